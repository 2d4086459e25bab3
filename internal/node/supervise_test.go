package node

import (
	"slices"
	"testing"
)

// TestCollectorsGetNoTokens: measured programs and builds find no token in their environment.
func TestCollectorsGetNoTokens(t *testing.T) {
	kept := WithoutTokens([]string{
		"PATH=/bin", "TACHO_TOKEN=a", "TACHO_GITHUB_TOKEN=b", "TACHO_WEBHOOK_SECRET=c", "TACHO_DATABASE_URL=d", "TACHO_ALERT_WEBHOOK=e", "TACHO_NATS_URL=f",
	})
	if want := []string{"PATH=/bin", "TACHO_NATS_URL=f"}; !slices.Equal(kept, want) {
		t.Errorf("got %v, want %v", kept, want)
	}
}
