package website

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

func TestTimesAreSaidInTheUnitsThatMatter(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "now", 900 * time.Millisecond: "now", -3 * time.Second: "3 s ago", 90 * time.Second: "in 1 min", -90 * time.Minute: "1 h 30 min ago",
		50 * time.Hour: "in 2 d 2 h", -time.Hour: "1 h ago",
	} {
		if got := ago(d); got != want {
			t.Errorf("%v is said as %q, want %q", d, got, want)
		}
	}
	if got := due(-time.Hour); got != "any moment" {
		t.Errorf("a missed estimate is said as %q", got)
	}
}

func TestWindowsAreSaidAsTimePasses(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) *time.Time { t := now.Add(d); return &t }
	for _, test := range []struct {
		earliest, latest *time.Time
		want             string
	}{
		{nil, nil, ""},
		{in(10*time.Minute + 20*time.Second), in(125 * time.Minute), "10 min to 2 h 5 min"},
		{in(20 * time.Second), in(90 * time.Second), "20 s to 1 min"},
		{in(-time.Minute), in(90 * time.Minute), "within 1 h 30 min"},
		{in(-time.Hour), in(-time.Minute), ""},
		{in(10*time.Minute + 5*time.Second), in(10*time.Minute + 50*time.Second), ""},
	} {
		if got := window(test.earliest, test.latest, now); got != test.want {
			t.Errorf("%v to %v is said as %q, want %q", test.earliest, test.latest, got, test.want)
		}
	}
}

func TestHashesAreCutAndNamesAreNot(t *testing.T) {
	for tag, want := range map[string]string{
		"0123456789abcdef0123456789abcdef01234567": "0123456789", "go1.25.0": "go1.25.0", "abc123": "abc123",
		"beta-2026-11-21-with-a-very-long-name-indeed": "beta-2026-11-21-with-a-very-long-name-indeed",
	} {
		if got := short(tag); got != want {
			t.Errorf("%s is cut to %s", tag, got)
		}
	}
}

func TestListsAreJoinedAsTheyAre(t *testing.T) {
	if got := list([]events.Profile{"opt", "debug"}); got != "opt, debug" {
		t.Errorf("%q", got)
	}
	if got := list([]string{"[a-c]*", "x[y]"}); got != "[a-c]*, x[y]" {
		t.Errorf("%q", got)
	}
}

func TestStateOfACollector(t *testing.T) {
	beat := &client.Heartbeat{}
	busy := &client.Heartbeat{Beat: eventlog.Beat{JobID: "j1"}}
	row := func(change func(*readmodel.Collector)) readmodel.Collector {
		c := readmodel.Collector{Active: true, Online: true}
		change(&c)
		return c
	}
	same := func(*readmodel.Collector) {}
	job := func(c *readmodel.Collector) { c.CurrentJob = &readmodel.Job{} }
	for name, c := range map[string]struct {
		row   readmodel.Collector
		beat  *client.Heartbeat
		known bool
		want  client.CollectorState
	}{
		"idle":                           {row(same), beat, true, client.CollectorIdle},
		"busy by heartbeat":              {row(same), busy, true, client.CollectorBenchmarking},
		"busy by the log":                {row(job), beat, true, client.CollectorBenchmarking},
		"silent":                         {row(job), nil, true, client.CollectorOffline},
		"heartbeats not known, busy":     {row(job), nil, false, client.CollectorBenchmarking},
		"heartbeats not known, idle":     {row(same), nil, false, client.CollectorIdle},
		"heartbeats not known, left":     {row(func(c *readmodel.Collector) { c.Online = false }), nil, false, client.CollectorOffline},
		"beats before the log says so":   {row(func(c *readmodel.Collector) { c.Online = false }), beat, true, client.CollectorIdle},
		"draining":                       {row(func(c *readmodel.Collector) { c.Draining = true }), busy, true, client.CollectorDraining},
		"drained and gone":               {row(func(c *readmodel.Collector) { c.Draining = true }), nil, true, client.CollectorOffline},
		"left for another version":       {row(func(c *readmodel.Collector) { c.Online, c.State = false, readmodel.CollectorUpdating }), nil, true, client.CollectorUpdating},
		"quarantined, and not gone yet":  {row(func(c *readmodel.Collector) { c.Quarantined = true }), busy, true, client.CollectorQuarantined},
		"removed, whatever else it may":  {row(func(c *readmodel.Collector) { c.RemovedAt, c.Active = &time.Time{}, false }), busy, true, client.CollectorRemoved},
		"inactive, whatever else it may": {row(func(c *readmodel.Collector) { c.Active = false }), busy, true, client.CollectorInactive},
	} {
		if got := shownState(c.row, c.beat, c.known); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestSecretsAreComparedWhole(t *testing.T) {
	for _, wrong := range []string{"", "s", "secre", "secret ", "Secret", "secretsecret"} {
		if sameSecret(wrong, "secret") {
			t.Errorf("%q passes", wrong)
		}
	}
	if !sameSecret("secret", "secret") {
		t.Error("the secret does not pass")
	}
}

func TestSchemasSeeWhatEncodingSees(t *testing.T) {
	type inner struct {
		State string `json:"state"`
		Kept  int    `json:"kept,omitempty"`
	}
	type outer struct {
		inner
		State  *time.Time `json:"state"`
		Hidden string     `json:"-"`
	}
	s := &schemas{named: object{}}
	s.of(outer{})
	want := object{"type": "object", "required": []string{"state"}, "properties": object{
		"kept": object{"type": "integer"}, "state": object{"anyOf": []object{{"type": "string", "format": "date-time"}, {"type": "null"}}},
	}}
	if diff := cmp.Diff(want, s.named["outer"]); diff != "" {
		t.Error(diff)
	}
}

func TestJobsAreSortedByLane(t *testing.T) {
	job := func(target events.Target, set events.Set, state events.JobState) readmodel.Job {
		return readmodel.Job{Target: target, Set: set, State: state}
	}
	lanes := lanesOf(readmodel.RequestJobs{JobList: []readmodel.Job{
		job("b", 0, events.JobQueued), job("a", 1, events.JobFailure), job("a", 0, events.JobSuccess), job("a", 1, events.JobInProgress),
	}}, nil)
	var got []string
	for _, l := range lanes {
		got = append(got, l.Lane.String())
	}
	if diff := cmp.Diff([]string{"a/0", "a/1", "b/0"}, got); diff != "" {
		t.Error(diff)
	}
	if l := lanes[1]; l.Total != 2 || l.Done != 1 || l.Failed != 1 || l.Left() != 1 || l.Current == nil {
		t.Errorf("%+v", l)
	}
}

func TestOpening(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "\n\n## Result\nrest": "Result", "<!-- hidden -->\n> Finished `abc`: [comparison](https://x/y) of both": "Finished abc: comparison of both",
		strings.Repeat("ä", 300): strings.Repeat("ä", 119) + "…",
	} {
		if got := opening(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
