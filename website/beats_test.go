package website

import (
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/presence"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// ear hears one collector.
type ear struct {
	hears time.Duration
	voice presence.Voice
}

func (e ear) Hears() time.Duration                   { return e.hears }
func (e ear) Of(events.CollectorName) presence.Voice { return e.voice }
func (ear) Note(events.CollectorName)                {}
func (ear) Changed() <-chan struct{}                 { return nil }

func TestWhatIsHeardStandsOverWhatTheLogSays(t *testing.T) {
	beat := presence.Voice{Heard: true, Beat: eventlog.Beat{Name: "eider"}, Age: time.Second}
	left, old, over := beat, beat, beat
	left.Left, old.Silence, over.Beat.Instance = true, time.Minute, "process-1"
	for name, tc := range map[string]struct {
		ear    ear
		online bool
		want   client.CollectorState
		reason string
	}{
		"heard":                               {ear{time.Hour, beat}, true, client.CollectorIdle, ""},
		"heard before the log says so":        {ear{time.Hour, beat}, false, client.CollectorIdle, ""},
		"the log says that it is over":        {ear{time.Hour, over}, false, client.CollectorOffline, "no heartbeat"},
		"gave its name back":                  {ear{time.Hour, left}, true, client.CollectorOffline, "no heartbeat"},
		"silent":                              {ear{time.Hour, old}, true, client.CollectorOffline, "no heartbeat"},
		"silent since it was listened":        {ear{time.Hour, presence.Voice{Silence: time.Minute}}, true, client.CollectorOffline, "no heartbeat"},
		"not heard, and not yet silent":       {ear{time.Second, presence.Voice{Silence: time.Second}}, true, client.CollectorIdle, ""},
		"nobody is heard":                     {ear{0, beat}, true, client.CollectorIdle, ""},
		"nobody is heard, and it had gone":    {ear{0, beat}, false, client.CollectorOffline, "no heartbeat"},
		"it was never there, nobody is heard": {ear{}, false, client.CollectorOffline, "never seen; start it with: tacho collector run eider"},
	} {
		t.Run(name, func(t *testing.T) {
			row := readmodel.Collector{Name: "eider", Active: true, Online: tc.online, Instance: "process-1"}
			c := beats{tc.ear, time.Minute}.join([]readmodel.Collector{row})[0]
			if c.State != tc.want || c.Reason != tc.reason || (c.Heartbeat != nil) != (c.State == client.CollectorIdle && tc.ear.voice.Heard && tc.ear.hears > 0) {
				t.Errorf("%s because %q, heartbeat %+v", c.State, c.Reason, c.Heartbeat)
			}
		})
	}
}
