package poller

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

var by = control.By{Actor: "cli:alice", Source: "cli", Root: "test"}

// small is a suite with one lane and one job per request.
func small() suite.Definitions {
	return suite.Definitions{
		Version: 1, Name: "small", PrimaryTarget: "here",
		Targets:    []suite.Target{{Name: "here", Sets: 1, OS: "linux", Arch: "amd64"}},
		Kinds:      []suite.Kind{{Name: "compile", PerSet: true, PerProfile: true}},
		Profiles:   []suite.Profile{{Name: "check"}},
		Backends:   []suite.Backend{{Name: "any"}},
		Categories: map[events.RequestKind][]suite.Category{events.Master: {suite.Primary}},
	}
}

func newControl(t testing.TB) (*control.Control, *memory.Log) {
	t.Helper()
	log := memory.New(memory.Config{})
	c := &control.Control{Log: log, Clock: time.Now}
	if _, err := c.Publish(context.Background(), by, small()); err != nil {
		t.Fatal(err)
	}
	return c, log
}

// branch is a source whose commits are in memory. It may change, and fail.
type branch struct {
	mu      sync.Mutex
	commits []Artifact
	err     error
	looks   int
	taken   int
}

// Newest implements Source.
func (b *branch) Newest(context.Context) iter.Seq2[Artifact, error] {
	return func(yield func(Artifact, error) bool) {
		b.mu.Lock()
		b.looks++
		commits, err := slices.Clone(b.commits), b.err
		b.mu.Unlock()
		if err != nil {
			yield(Artifact{}, err)
			return
		}
		for _, c := range slices.Backward(commits) {
			b.mu.Lock()
			b.taken++
			b.mu.Unlock()
			if !yield(c, nil) {
				return
			}
		}
	}
}

// grow adds n commits to the branch. The first is age old, each other a second younger than the one before.
func (b *branch) grow(n int, age time.Duration, prefix string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := time.Now().Add(-age)
	for i := range n {
		a := Artifact{Kind: events.Master, Tag: events.Tag(fmt.Sprintf("%s%d", prefix, i)), At: at.Add(time.Duration(i) * time.Second)}
		if len(b.commits) > 0 {
			a.Parent = b.commits[len(b.commits)-1].Tag
		}
		b.commits = append(b.commits, a)
	}
}

func (b *branch) looked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.looks
}

func (b *branch) set(f func(*branch)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(b)
}

var month = Policy{Horizon: 29 * 24 * time.Hour, Backlog: 2, Keep: 20}

func newPoller(c *control.Control, name string, from Source, policy Policy) *Poller {
	return New(Config{
		Name: name, Suite: "small", Source: from, Policy: policy, Interval: 2 * time.Minute, Control: c, Clock: time.Now, Logger: discard,
	})
}

func read(t testing.TB, log *memory.Log) []events.Recorded {
	t.Helper()
	ctx := context.Background()
	head, err := log.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cursor, err := log.Follow(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer cursor.Close()
	var out []events.Recorded
	for events.Seq(len(out)) < head.Last {
		batch, err := cursor.Next(ctx, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range batch {
			e, err := events.Decode(m)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, e)
		}
	}
	return out
}

// created returns the tags of requests in the order in which they were created.
func created(t testing.TB, log *memory.Log) []events.Tag {
	t.Helper()
	var out []events.Tag
	for _, e := range read(t, log) {
		if c, ok := e.Fact.(events.RequestCreated); ok {
			out = append(out, c.Tag)
		}
	}
	return out
}

func poll(t testing.TB, p *Poller, want int) {
	t.Helper()
	outcome, err := p.Poll(context.Background())
	if err != nil || outcome.Created != want {
		t.Fatalf("%+v %v, want %d requests", outcome, err, want)
	}
}

func wantCreated(t testing.TB, log *memory.Log, want ...events.Tag) {
	t.Helper()
	if diff := cmp.Diff(want, created(t, log)); diff != "" {
		t.Fatal(diff)
	}
}

func TestTheFirstPollTakesTheBacklogAlone(t *testing.T) {
	c, log := newControl(t)
	b := &branch{}
	b.grow(10, time.Hour, "c")
	poll(t, newPoller(c, "a", b, month), 2)
	wantCreated(t, log, "c8", "c9")
	// A new poller continues, and does not ask for the past.
	b.grow(3, time.Minute, "d")
	poll(t, newPoller(c, "a", b, month), 3)
	wantCreated(t, log, "c8", "c9", "d0", "d1", "d2")
	// The backlog is for a branch that was never polled: requests for older commits now would put children first.
	larger := month
	larger.Backlog = 7
	poll(t, newPoller(c, "a", b, larger), 0)
}

func TestNothingBeyondTheHorizonIsTaken(t *testing.T) {
	c, log := newControl(t)
	b := &branch{}
	b.grow(3, 40*24*time.Hour, "old")
	all := month
	all.Backlog = 1000
	poll(t, newPoller(c, "a", b, all), 0)
	b.grow(3, time.Hour, "c")
	poll(t, newPoller(c, "a", b, all), 3)
	wantCreated(t, log, "c0", "c1", "c2")
}

// A person who asks for single commits leaves gaps, above the polled commits and below.
func TestMissingAncestorsComeFirst(t *testing.T) {
	c, log := newControl(t)
	b := &branch{}
	b.grow(6, time.Hour, "c")
	ask := func(tag, parent events.Tag) {
		if _, _, err := c.CreateRequest(t.Context(), by, control.NewRequest{Suite: "small", Kind: events.Master, Tag: tag, Parent: parent}); err != nil {
			t.Fatal(err)
		}
	}
	ask("c1", "c0")
	p := newPoller(c, "a", b, month)
	poll(t, p, 2)
	wantCreated(t, log, "c1", "c4", "c5")
	b.grow(4, time.Minute, "d")
	ask("d3", "d2")
	ask("d1", "d0")
	poll(t, p, 2)
	wantCreated(t, log, "c1", "c4", "c5", "d3", "d1", "d0", "d2")
	poll(t, p, 0)
	poll(t, newPoller(c, "a", b, month), 0)
}

// A person may ask for a commit first, with more or fewer details than the source has.
func TestWhatIsThereIsTakenAsItIs(t *testing.T) {
	c, log := newControl(t)
	b := &branch{}
	b.grow(3, time.Hour, "c")
	if _, _, err := c.CreateRequest(t.Context(), by, control.NewRequest{Suite: "small", Kind: events.Master, Tag: "c2", Parent: "other", PR: 99}); err != nil {
		t.Fatal(err)
	}
	p := newPoller(c, "a", b, month)
	poll(t, p, 1)
	poll(t, p, 0)
	wantCreated(t, log, "c2", "c1")
}

func TestAForcePushIsNothingSpecial(t *testing.T) {
	c, log := newControl(t)
	b := &branch{}
	b.grow(4, time.Hour, "c")
	p := newPoller(c, "a", b, month)
	poll(t, p, 2)
	dropped := slices.Clone(b.commits)
	b.set(func(b *branch) { b.commits = b.commits[:3] })
	poll(t, p, 0)
	b.grow(2, time.Minute, "d")
	poll(t, p, 2)
	poll(t, newPoller(c, "a", b, month), 0)
	wantCreated(t, log, "c2", "c3", "d0", "d1")
	b.set(func(b *branch) { b.commits = dropped })
	poll(t, p, 0)
	// The branch gets another history.
	b.set(func(b *branch) { b.commits = nil })
	b.grow(9, time.Minute, "e")
	poll(t, p, 2)
	wantCreated(t, log, "c2", "c3", "d0", "d1", "e7", "e8")
}

// A later poll reads the new commits and no others.
func TestAPollTakesNoMoreThanItNeeds(t *testing.T) {
	c, _ := newControl(t)
	b := &branch{}
	b.grow(500, time.Hour, "c")
	p := newPoller(c, "a", b, month)
	poll(t, p, 2)
	for i := range 3 {
		b.set(func(b *branch) { b.taken = 0 })
		b.grow(1, time.Minute, fmt.Sprint("d", i))
		poll(t, p, 1)
		if b.taken > 2 {
			t.Errorf("%d commits were taken", b.taken)
		}
	}
}

func TestTheNewestReleasesAreTaken(t *testing.T) {
	c, log := newControl(t)
	b := &branch{commits: []Artifact{release("1.86.0", "2025-04-03"), release("1.87.0", "2025-05-15"), release("1.88.0", "2025-06-26")}}
	two := Policy{Keep: 2}
	poll(t, newPoller(c, "a", b, two), 2)
	wantCreated(t, log, "1.87.0", "1.88.0")
	b.commits = append(b.commits, release("1.89.0", "2025-08-07"))
	poll(t, newPoller(c, "a", b, two), 1)
	for _, e := range read(t, log) {
		if f, ok := e.Fact.(events.RequestCreated); ok && f.Tag == "1.89.0" {
			if f.ReleasedOn != "2025-08-07" || f.Kind != events.Release || e.Actor != "poller:a" || e.Source != "poller" || !strings.HasPrefix(e.Root, "poll:a@") {
				t.Errorf("%+v", e)
			}
		}
	}
}

// A poller asks for the account of its configuration, which needs no settings.
func TestAPollerAsksForItsAccount(t *testing.T) {
	c, log := newControl(t)
	b := &branch{commits: []Artifact{release("1.86.0", "2025-04-03")}}
	p := newPoller(c, "a", b, Policy{Keep: 2})
	p.Account, p.Priority = "robot", events.PriorityLow
	poll(t, p, 1)
	poll(t, newPoller(c, "b", b, Policy{Keep: 2}), 0) // another poller takes the request as it is
	b.set(func(b *branch) { b.commits = append(b.commits, release("1.87.0", "2025-05-15")) })
	p.Queue = "bisct"
	if _, err := p.Poll(t.Context()); err == nil || !strings.Contains(err.Error(), `unknown queue "bisct"`) {
		t.Errorf("in an unknown queue: %v", err)
	}
	for _, e := range read(t, log) {
		if f, ok := e.Fact.(events.RequestCreated); ok && (f.Account != "robot" || f.Queue != "robot" || f.Priority != events.PriorityLow || e.Actor != "poller:a") {
			t.Errorf("%+v", e)
		}
	}
}

// A source is the operator's: the rights and the branches of its account do not bind it.
func TestRightsDoNotBindASource(t *testing.T) {
	c, log := newControl(t)
	change := control.AccountChange{May: &[]events.Right{events.RightNone}, Branches: &[]string{"try/*"}}
	if _, err := c.ConfigureAccount(t.Context(), control.By{Actor: "test"}, "robot", change); err != nil {
		t.Fatal(err)
	}
	b := &branch{}
	b.grow(1, time.Hour, "c")
	p := newPoller(c, "a", b, month)
	p.Account = "robot"
	poll(t, p, 1)
	wantCreated(t, log, "c0")
}

func TestARefusedArtifactDoesNotKeepTheOthersBack(t *testing.T) {
	c, log := newControl(t)
	b := &branch{}
	b.grow(3, time.Hour, "c")
	b.set(func(b *branch) { b.commits[1].Tag = "not a tag" })
	all := month
	all.Backlog = 3
	outcome, err := newPoller(c, "a", b, all).Poll(t.Context())
	if err == nil || !strings.Contains(err.Error(), "not a tag") || outcome.Created != 2 {
		t.Errorf("%+v %v", outcome, err)
	}
	wantCreated(t, log, "c0", "c2")
}

// However many pollers run and however often they poll, the requests are one history without gaps, parents before
// children, and none twice, whichever poller is killed after whichever commit.
func TestPollersLeaveNoGap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c, log := newControl(t)
		b := &branch{}
		b.grow(rapid.IntRange(1, 10).Draw(rt, "history"), time.Hour, "c")
		policy := month
		policy.Backlog = rapid.IntRange(1, 12).Draw(rt, "backlog")
		pollers := []*Poller{newPoller(c, "a", b, policy), newPoller(c, "b", b, policy)}
		for step := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0:
				b.grow(rapid.IntRange(1, 5).Draw(rt, "pushed"), time.Minute, fmt.Sprintf("s%d-", step))
			case 1:
				// A force push cuts the branch back, but not below the first polled commit: below it, the branch
				// counts as never polled.
				first := 0
				for i, a := range b.commits {
					if r, err := log.Read(t.Context(), events.RequestSubject(events.NewRequestID("small", events.Master, string(a.Tag)))); err != nil {
						rt.Fatal(err)
					} else if len(r) > 0 && r[0].Source == source {
						first = i
						break
					}
				}
				keep := rapid.IntRange(first+1, len(b.commits)).Draw(rt, "keep")
				b.set(func(b *branch) { b.commits = b.commits[:keep:keep] })
			case 2:
				// A person asks for one commit.
				a := b.commits[rapid.IntRange(0, len(b.commits)-1).Draw(rt, "asked")]
				if _, _, err := c.CreateRequest(t.Context(), by, a.request("small")); err != nil {
					rt.Fatal(err)
				}
			case 3:
				// A poller is killed after some appends, and another one replaces it.
				dying := &control.Control{
					Log: &mortal{Log: log, left: rapid.IntRange(0, 3).Draw(rt, "appends")}, Clock: c.Clock,
				}
				_, _ = newPoller(dying, "a", b, policy).Poll(t.Context())
				pollers[0] = newPoller(c, "a", b, policy)
			default:
				var both sync.WaitGroup
				for _, p := range pollers {
					both.Go(func() {
						if _, err := p.Poll(t.Context()); err != nil {
							t.Error(err)
						}
					})
				}
				both.Wait()
			}
		}
		for _, p := range pollers {
			if _, err := p.Poll(t.Context()); err != nil {
				rt.Fatal(err)
			}
		}
		at := map[events.Tag]int{}
		byPoller := map[events.Tag]bool{}
		for i, e := range read(t, log) {
			if f, ok := e.Fact.(events.RequestCreated); ok {
				if _, twice := at[f.Tag]; twice {
					rt.Fatalf("%s was created twice", f.Tag)
				}
				at[f.Tag], byPoller[f.Tag] = i, e.Source == source
			}
		}
		// From the oldest commit that a poller asked for, no request is missing on the branch.
		begun := false
		for _, a := range b.commits {
			_, there := at[a.Tag]
			begun = begun || byPoller[a.Tag]
			if begun && !there {
				rt.Fatalf("%s is missing of %v", a.Tag, tags(b.commits))
			}
			if parent, ok := at[a.Parent]; ok && byPoller[a.Tag] && byPoller[a.Parent] && parent > at[a.Tag] {
				rt.Fatalf("%s was created before its parent %s", a.Tag, a.Parent)
			}
		}
	})
}

var errDead = errors.New("this process is dead")

// mortal is a log that a process can no longer reach after some appends.
type mortal struct {
	eventlog.Log
	left int
}

// Append implements eventlog.Log.
func (m *mortal) Append(ctx context.Context, parts ...eventlog.Append) (events.Seq, error) {
	if m.left--; m.left < 0 {
		return 0, errDead
	}
	return m.Log.Append(ctx, parts...)
}

func TestASourceThatFailsIsAnAlertAndNotAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, log := newControl(t)
		b := &branch{err: errors.New("fatal: unable to access 'https://u:secret@h/x':\n\tno route")}
		registry := prometheus.NewRegistry()
		p := newPoller(c, "rust-master", b, month)
		p.Metrics = NewMetrics(registry)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := p.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		alerts := func() (out []events.Fact) {
			for _, e := range read(t, log) {
				if strings.HasPrefix(string(e.Fact.Subject()), string(events.AlertSubject(""))) {
					out = append(out, e.Fact)
				}
			}
			return out
		}
		synctest.Wait()
		if got := alerts(); len(got) != 0 || b.looked() != 1 {
			t.Fatalf("after %d failures: %v", b.looked(), got)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		got := alerts()
		if len(got) != 1 || b.looked() < 3 {
			t.Fatalf("after %d failures: %v", b.looked(), got)
		}
		alert := got[0].(events.AlertRaised)
		if alert.Key != "source-rust-master" || alert.Kind != events.AlertSource || !strings.Contains(alert.Message, "no route") ||
			strings.Contains(alert.Message, "secret") || !strings.Contains(alert.Action, "tacho poller look rust-master") {
			t.Errorf("%+v", alert)
		}
		// It continues, less and less often, and raises the alert at most once an hour, however the words change.
		before := b.looked()
		for range 12 * 60 {
			b.set(func(b *branch) { b.err = fmt.Errorf("%d failures", b.looks) })
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		if n := b.looked() - before; n < 12*60/15 || n > 12*60/5 {
			t.Errorf("%d polls in 12 hours of failures", n)
		}
		if got := alerts(); len(got) < 6 || len(got) > 14 {
			t.Errorf("%d alerts in 12 hours", len(got))
		}
		// A trigger polls at once.
		b.set(func(b *branch) { b.err = nil })
		b.grow(1, time.Minute, "c")
		p.Trigger()
		synctest.Wait()
		wantCreated(t, log, "c0")
		got = alerts()
		if cleared, ok := got[len(got)-1].(events.AlertCleared); !ok || cleared.Key != alert.Key {
			t.Errorf("the last word is %+v", got[len(got)-1])
		}
		// Then it polls at every interval.
		before = b.looked()
		time.Sleep(20*time.Minute + time.Second)
		synctest.Wait()
		if n := b.looked() - before; n != 10 {
			t.Errorf("%d polls in 20 minutes, want 10", n)
		}
		count := func(name string) int { return counted(t, registry, "tacho_poller_"+name+"_total") }
		if got := count("requests"); got != 1 {
			t.Errorf("%d requests are counted", got)
		}
		if polls, failures := count("polls"), count("failures"); polls != b.looked() || failures != polls-11 {
			t.Errorf("%d polls and %d failures are counted of %d", polls, failures, b.looked())
		}
		cancel()
		running.Wait()
	})
}

func TestALimitIsWaitedForAndAnOutageOfTheLogIsNoAlert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, log := newControl(t)
		b := &branch{err: &LimitedError{Host: "api", Until: time.Now().Add(40 * time.Minute)}}
		p := newPoller(c, "a", b, month)
		if pause := p.turn(t.Context()); pause < 40*time.Minute || pause > 44*time.Minute {
			t.Errorf("the next poll is in %v", pause)
		}
		away := &control.Control{Log: unavailable{log}, Clock: c.Clock}
		b.set(func(b *branch) { b.err = nil })
		b.grow(1, time.Minute, "c")
		p = newPoller(away, "a", b, month)
		for range 5 {
			p.turn(t.Context())
		}
		if p.failures != 0 {
			t.Errorf("%d failures are counted against the source", p.failures)
		}
		p.Control = c
		poll(t, p, 1)
	})
}

// counted returns the value of the only source's counter.
func counted(t testing.TB, registry *prometheus.Registry, name string) int {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return int(f.GetMetric()[0].GetCounter().GetValue())
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// unavailable is a log that can be read but accepts no appends.
type unavailable struct{ eventlog.Log }

// Append implements eventlog.Log.
func (unavailable) Append(context.Context, ...eventlog.Append) (events.Seq, error) {
	return 0, fmt.Errorf("append: %w", eventlog.ErrUnavailable)
}
