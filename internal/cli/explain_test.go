package cli

import (
	"fmt"
	"testing"

	"github.com/tachobench/tacho/events"
)

// A collector that is older than the core ends at its start if the log says something of it that it does not understand. The
// error says what to do.
func TestAnEventOfANewerVersionNamesTheNextStep(t *testing.T) {
	err := fmt.Errorf("read registry.eider: %w", &events.NewerError{Seq: 7, Type: "collector.weighed.v1"})
	contains(t, "the error", new(Program).explain(err).Error(), "collector.weighed.v1", "update this program", "tacho events park 7")
}
