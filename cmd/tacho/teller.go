package main

import (
	"fmt"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// teller tells how requests go: on a terminal in one line that changes, elsewhere in plain lines.
type teller struct {
	p     *program
	open  map[events.RequestID]bool
	began time.Time
	// jobs of the requests, made and ended; cases are the test cases that were measured.
	made, ended, cases int
	running            map[events.CollectorName]string
	line               bool
}

func newTeller(p *program, open map[events.RequestID]bool) *teller {
	return &teller{p: p, open: open, began: p.clock(), running: map[events.CollectorName]string{}}
}

// tell takes the next event. A request that has ended is removed from the open ones.
func (t *teller) tell(e readmodel.Event) {
	recorded, err := events.Decode(events.Stored{Seq: e.Seq, Subject: e.Subject, Header: e.Headers, Data: e.Data})
	if err != nil {
		return
	}
	// The rest is no news to who waits.
	//exhaustive:ignore
	switch f := recorded.Fact.(type) {
	case events.RequestStarted:
		t.made += f.Jobs + f.Backfill
		t.say(recorded.Fact)
	case events.JobDequeued:
		t.running[f.Collector] = fmt.Sprintf("%s %s/%s", short(f.Job.Artifact.Tag), f.Job.Backend, f.Job.Profile)
		t.say(recorded.Fact)
	case events.TestCasesMeasured:
		t.cases += len(f.Cases)
	case events.JobFinished:
		t.ended++
		delete(t.running, f.Collector)
		t.say(recorded.Fact)
	case events.AttemptLost, events.AttemptReleased, events.ErrorRecorded:
		t.say(recorded.Fact)
	case events.RequestCompleted:
		delete(t.open, f.RequestID)
		t.say(recorded.Fact)
	case events.RequestFailed:
		delete(t.open, f.RequestID)
		t.say(recorded.Fact)
	case events.RequestCancelled:
		delete(t.open, f.RequestID)
		t.say(recorded.Fact)
	case events.RequestExpired:
		delete(t.open, f.RequestID)
		t.say(recorded.Fact)
	case events.RequestSuperseded:
		delete(t.open, f.RequestID)
		t.say(recorded.Fact)
	}
	t.show()
}

func (t *teller) say(f events.Fact) {
	t.clear()
	t.p.say("%7s  %-18s %s", t.p.clock().Sub(t.began).Round(100*time.Millisecond), shortType(events.TypeOf(f)), describe(f))
}

// show writes the line of progress.
func (t *teller) show() {
	if !t.p.terminal || len(t.open) == 0 {
		return
	}
	doing := ""
	for _, name := range sortedKeys(t.running) {
		doing += fmt.Sprintf(" · %s: %s", name, t.running[name])
	}
	fmt.Fprintf(t.p.stderr, "\r\x1b[K%s  %d of %d jobs, %d test cases%s", t.p.clock().Sub(t.began).Round(time.Second), t.ended, t.made, t.cases, doing)
	t.line = true
}

func (t *teller) clear() {
	if t.line {
		fmt.Fprint(t.p.stderr, "\r\x1b[K")
		t.line = false
	}
}

func (t *teller) end() { t.clear() }
