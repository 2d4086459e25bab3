package watchdog

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/events"
)

func TestAStoreFullOfNeededOutputsIsSaid(t *testing.T) {
	w := newWorld(t)
	w.view.outputs = outputsView{asked: true, Usage: blob.Usage{Limit: 20 << 30, Needed: 19 << 30}}
	w.expect("there is room")
	w.view.outputs.Refused = &blob.Refused{Wish: blob.Wish{Lane: lane, Job: "j1", Output: events.Output{Name: "toolchain", Bytes: 3 << 30}}}
	w.says("outputs", "no room for output toolchain of job j1, with 3 GiB")
	if action := w.judge().wanted["outputs"].Action; !strings.Contains(action, "larger than its 20 GiB (nats.blob_bytes") {
		t.Errorf("it advises %q", action)
	}
	w.view.outputs.Refused.Output.Bytes = 30 << 30
	w.says("outputs", "Output toolchain of job j1 has 30 GiB, more than the whole store")
	raised := events.AlertRaised{Key: "outputs", Kind: events.AlertOutputs}
	w.view.outputs.asked = false
	if why := w.why(raised); why != "" {
		t.Errorf("the store does not answer, and it is cleared: %s", why)
	}
	w.view.outputs = outputsView{asked: true}
	if why := w.why(raised); why != "there is room again" {
		t.Errorf("it is over because %q", why)
	}
}
