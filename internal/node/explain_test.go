package node

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// A server that refuses to make the log gets its words, and the next step in front of them.
func TestRefusalsToMakeTheLogNameTheNextStep(t *testing.T) {
	for _, test := range []struct {
		code       jetstream.ErrorCode
		says, step string
	}{
		{noStorage, "insufficient storage resources available", "max_file_store"},
		{noPeers, "no suitable peers for placement, insufficient storage", "max_file_store"},
		{noPeers, "no suitable peers for placement, peer offline", "start the others"},
		{10052, "something else", ""},
	} {
		refusal := fmt.Errorf("open the log: %w", &jetstream.APIError{Code: 400, ErrorCode: test.code, Description: test.says})
		got := explainOpen(refusal)
		if !errors.Is(got, refusal) || !strings.Contains(got.Error(), test.says) || !strings.Contains(got.Error(), test.step) || test.step == "" && !errors.Is(refusal, got) {
			t.Errorf("%s: %v", test.says, got)
		}
	}
	if explainOpen(nil) != nil {
		t.Error("no error is explained")
	}
}
