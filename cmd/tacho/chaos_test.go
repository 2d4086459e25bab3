package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
)

// fault is something that goes wrong, and ends.
type fault struct {
	name       string
	lasting    time.Duration
	begin, end func()
	// may are the alerts that may be raised during it, must those that have to be.
	may, must []events.AlertKind
	// gap is the longest time in which no website may take an append; 0 if none can.
	gap time.Duration
	// dead says that a collector died or was silent: attempts may be lost.
	dead bool
}

// do makes a fault while all collectors are at work, and takes its figures.
func (c *chaos) do(f fault) {
	c.t.Helper()
	c.calm()
	c.busy()
	c.t.Logf("%s  %s", time.Now().Format(time.TimeOnly), f.name)
	out := &figures{Fault: f.name, fault: f, head: c.head(), began: time.Now()}
	f.begin()
	pass(f.lasting - time.Since(out.began))
	if f.end != nil {
		f.end()
	}
	out.ended = time.Now()
	c.calm()
	out.out = time.Now()
	out.look(c.witnesses)
	c.figures = append(c.figures, out)
}

var (
	away = []events.AlertKind{events.AlertUnreachable}
	// unfed are the alerts of a database that does not answer.
	unfed = []events.AlertKind{events.AlertLag, events.AlertDatabase}
)

// faultsOfNodes are what can happen to the nodes of the log.
func (c *chaos) faultsOfNodes(lasting, gap time.Duration) []fault {
	var i int
	lost := func() (int, int) { return i, (i + 1) % 3 }
	pausedFollower := fault{
		name: "a follower is paused", lasting: lasting, gap: gap,
		begin: func() { i = (c.leader() + 1) % 3; c.nodes.signal(i, syscall.SIGSTOP) }, end: func() { c.nodes.signal(i, syscall.SIGCONT) },
	}
	return []fault{
		{
			name: "the leader is killed", lasting: lasting, gap: gap,
			begin: func() { i = c.leader(); c.nodes.end(i, syscall.SIGKILL) }, end: func() { c.nodes.startOne(i) },
		}, {
			name: "the leader is paused", lasting: lasting, gap: gap,
			begin: func() { i = c.leader(); c.nodes.signal(i, syscall.SIGSTOP) }, end: func() { c.nodes.signal(i, syscall.SIGCONT) },
		}, {
			name: "the leader is cut off", lasting: lasting, gap: gap,
			begin: func() { i = c.leader(); c.nodes.links.cut(i, true) }, end: func() { c.nodes.links.cut(i, false) },
		}, pausedFollower, {
			name: "two nodes are lost", lasting: lasting, must: away,
			begin: func() {
				i = c.leader()
				a, b := lost()
				c.nodes.end(a, syscall.SIGKILL)
				c.nodes.end(b, syscall.SIGKILL)
			},
			end: func() {
				a, b := lost()
				c.nodes.startOne(a)
				c.nodes.startOne(b)
			},
		},
	}
}

// restarts are what an operator does, and what happens to a whole machine room.
func (c *chaos) restarts(past time.Duration, gap time.Duration) []fault {
	return []fault{
		{
			name: "all nodes are restarted after " + past.String() + " of heartbeats", may: away,
			begin: func() { c.beats(past); c.nodes.kill(); c.nodes.start() },
		}, {
			name: "the nodes are restarted one by one", gap: gap,
			begin: func() {
				for i := range 3 {
					c.nodes.end(i, syscall.SIGTERM)
					c.nodes.startOne(i)
					c.eventually("all nodes are current", time.Minute, func() bool { _, ok := c.whole(); return ok })
				}
			},
		}, {
			name: "the processes of the core are restarted one by one", gap: gap,
			begin: func() {
				for i, p := range c.cores {
					p.stop(c.t)
					c.startCore(i)
				}
			},
		},
	}
}

// faultsOfParts are what can happen to the processes around the log.
func (c *chaos) faultsOfParts(lasting, gap, jump time.Duration) []fault {
	var pids []int
	return []fault{
		{
			name: "a process of the core is killed", lasting: lasting, gap: gap,
			begin: func() { c.kill(c.cores[0].cmd.Process.Pid, "core 0"); <-c.cores[0].ended }, end: func() { c.startCore(0) },
		}, {
			// If it has the turn of the projectors, the tables stand still.
			name: "a process of the core is paused", lasting: lasting, gap: gap, may: []events.AlertKind{events.AlertLag},
			begin: func() { c.signal(c.cores[1], syscall.SIGSTOP) }, end: func() { c.signal(c.cores[1], syscall.SIGCONT) },
		}, {
			name: "the clocks of a core and a collector jump by an hour", gap: gap,
			begin: func() {
				for _, ahead := range []time.Duration{time.Hour, 0, -time.Hour, 0} {
					c.setClock("core0", ahead)
					c.setClock("c0", -ahead)
					pass(jump)
				}
			},
		}, {
			name: "Postgres hangs", lasting: lasting, gap: gap, may: unfed,
			begin: func() { pids = c.database(); c.signalAll(pids, syscall.SIGSTOP) }, end: func() { c.signalAll(pids, syscall.SIGCONT) },
		}, {
			name: "Postgres is killed", lasting: lasting, gap: gap, may: unfed,
			begin: func() { c.kill(c.database()[0], "Postgres"); <-c.pg.Done() }, end: c.startPostgres,
		},
	}
}

// faultsOfCollectors end attempts, as they should.
func (c *chaos) faultsOfCollectors(gap time.Duration) []fault {
	gone := []events.AlertKind{events.AlertOffline}
	return []fault{
		{
			name: "a collector is killed", lasting: c.offline + 15*time.Second, gap: gap, dead: true, may: []events.AlertKind{events.AlertUnserved}, must: gone,
			begin: func() { c.kill(c.collectors[0].cmd.Process.Pid, "collector c0"); <-c.collectors[0].ended }, end: func() { c.startCollector(0) },
		}, {
			name: "a collector hangs", lasting: c.offline + 15*time.Second, gap: gap, dead: true, may: []events.AlertKind{events.AlertUnserved}, must: gone,
			begin: func() { c.signal(c.collectors[1], syscall.SIGSTOP) }, end: func() { c.signal(c.collectors[1], syscall.SIGCONT) },
		},
	}
}

// judge waits for the end of all work and looks in the log for what must never happen.
func (c *chaos) judge() {
	c.t.Helper()
	c.eventually("everything is done", 5*time.Minute, func() bool {
		out, _, code := c.run("queue", "--json")
		return code == cli.ExitDone && strings.TrimSpace(out) == "[]"
	})
	c.calm()
	c.stopWatch()
	for i, f := range c.figures {
		f.last = c.head()
		if i+1 < len(c.figures) {
			f.last = c.figures[i+1].head
		}
	}
	made, ended, taken := map[events.JobID]bool{}, map[events.JobID]int{}, map[string]int{}
	for _, e := range c.events() {
		f := c.at(e.Seq)
		// The other events say nothing of facts, jobs, attempts and alerts.
		//exhaustive:ignore
		switch fact := e.Fact.(type) {
		case events.VersionWanted:
			taken[fact.Version]++
		case events.JobsCreated:
			for _, j := range fact.Jobs {
				made[j.ID] = true
			}
		case events.JobFinished:
			ended[fact.JobID]++
		case events.AttemptLost:
			if !f.fault.dead {
				c.t.Errorf("%s: event %d: attempt %d of job %s of %s is lost: %s", f.Fault, e.Seq, fact.Attempt, fact.JobID, fact.Collector, fact.Reason)
			}
		case events.CollectorSilent:
			if !f.fault.dead {
				c.t.Errorf("%s: event %d: collector %s is called silent: %s", f.Fault, e.Seq, fact.Name, fact.Reason)
			}
		case events.AlertRaised:
			if !f.isTrue(fact.Kind) && !(fact.Kind == events.AlertUnreachable && c.wasAway(e.Time)) {
				c.t.Errorf("%s: event %d: a false alarm: %s: %s", f.Fault, e.Seq, fact.Key, fact.Message)
			}
			if _, ok := f.Alerts[fact.Kind]; !ok {
				f.Alerts[fact.Kind] = e.Time.Sub(f.began).Seconds()
			}
		}
	}
	for id := range made {
		if ended[id] != 1 {
			c.t.Errorf("job %s has ended %d times", id, ended[id])
		}
	}
	acknowledged := 0
	for _, w := range c.witnesses {
		for _, v := range w.taken {
			if acknowledged++; taken[v] != 1 {
				c.t.Errorf("version %s was acknowledged, and the log has it %d times", v, taken[v])
			}
		}
	}
	c.checkLog()
	if out := c.must("replay", "--verify"); !strings.Contains(out, "identical") {
		c.t.Error(out)
	}
	for _, f := range c.figures {
		f.check(c.t)
	}
	for _, p := range c.collectors { // before the core, which they tell that they leave
		c.signal(p, syscall.SIGINT)
	}
	for _, p := range c.collectors {
		p.wait(c.t)
	}
	c.t.Logf("%d jobs ended once each, %d acknowledged appends are in the log once each", len(made), acknowledged)
}

// at returns the fault during which an event was stored, or before the first fault, the first one.
func (c *chaos) at(seq events.Seq) *figures {
	for _, f := range slices.Backward(c.figures) {
		if seq > f.head {
			return f
		}
	}
	return c.figures[0]
}

// wasAway reports whether a website took no append for as long as an outage is that is recorded, in the minute before its record.
// The record comes when the log is back, which may be as late as in the next fault.
func (c *chaos) wasAway(recorded time.Time) bool {
	from := recorded.Add(-time.Minute)
	if first := c.figures[0].began; from.Before(first) { // what the witnesses saw before is nobody's figure
		from = first
	}
	for i := range c.witnesses {
		if one := samples(c.witnesses[i:i+1], appendsOf, from, recorded); gap(one, from, recorded) >= 9*time.Second { // it is recorded after 10 s
			return true
		}
	}
	return false
}

// isTrue reports whether an alert of a kind is among those of its fault.
func (f *figures) isTrue(kind events.AlertKind) bool {
	return slices.Contains(f.fault.may, kind) || slices.Contains(f.fault.must, kind)
}

func (f *figures) check(t *testing.T) {
	for _, kind := range f.fault.must {
		if _, ok := f.Alerts[kind]; !ok {
			t.Errorf("%s: no alert of kind %s", f.Fault, kind)
		}
	}
	for kind := range f.Alerts {
		// While a leader is elected, a process may show by itself that the log is away: it is. It must call nobody.
		if kind != events.AlertUnreachable && !f.isTrue(kind) {
			t.Errorf("%s: a false alarm of kind %s", f.Fault, kind)
		}
	}
	if limit := f.fault.gap; limit > 0 && f.NoAppend > limit.Seconds() {
		t.Errorf("%s: no append was taken for %.1f s, want at most %s", f.Fault, f.NoAppend, limit)
	}
	for _, text := range f.Says {
		if strings.Contains(text, "older copy") || strings.Contains(text, "another log") {
			t.Errorf("%s: /readyz says %q", f.Fault, text)
		}
	}
}

// report prints the figures as a table and as JSON.
func (c *chaos) report() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nfault\tlasted\tno append (any, one)\tappend after its end\tnot ready after\tchecks\tready without appends\talerts after\tpages\tall well after")
	seconds := func(s float64) string {
		if s < 0 {
			return "-"
		}
		return fmt.Sprintf("%.1f s", s)
	}
	for _, f := range c.figures {
		var alerts, pages []string
		for _, kind := range slices.Sorted(maps.Keys(f.Alerts)) {
			alerts = append(alerts, fmt.Sprintf("%s %s", kind, seconds(f.Alerts[kind])))
		}
		for _, status := range slices.Sorted(maps.Keys(f.Pages)) {
			pages = append(pages, fmt.Sprintf("%s: %d", status, f.Pages[status]))
		}
		fmt.Fprintf(w, "%s\t%s\t%s, %s\t%s\t%s\t%s\t%s\t%s\t%s in %s\t%s\n", f.Fault, seconds(f.Lasting), seconds(f.NoAppend), seconds(f.NoAppendOne), seconds(f.AppendBack),
			seconds(f.NotReady), f.checks(), seconds(f.Wrong), strings.Join(alerts, ", "), strings.Join(pages, ", "), seconds(f.Page), seconds(f.Clear))
	}
	_ = w.Flush() // to stdout
	text, err := json.Marshal(c.figures)
	if err != nil {
		c.t.Fatal(err)
	}
	fmt.Printf("\n%s\n", text)
}

// shippedPings returns what the configuration that Tacho ships says of pings.
func shippedPings(t *testing.T) (lines string) {
	t.Helper()
	text, err := os.ReadFile("../../docker/nats/common.conf")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "ping_") {
			lines += line
		}
	}
	return lines
}

// chaosInFull says that `make chaos` runs.
func chaosInFull() bool { return os.Getenv("TACHO_CHAOS") == "full" }

// Whatever fails, and whoever restarts it: every job ends once, nothing acknowledged is lost or doubled, no attempt is lost unless
// its collector died, and no alert is false. `make chaos` does all of it, with the default budgets, in network namespaces.
func TestChaos(t *testing.T) {
	full := chaosInFull()
	if full && toGround(t, "TestChaos") {
		return
	}
	if !full {
		t.Parallel() // it waits more than it works
		c := newChaos(t, budgets{
			lanes: 2, programs: 2, nap: "2", every: 200 * time.Millisecond, offline: 30 * time.Second, pings: `ping_interval: "1s"`,
			config: "suites = [\"{{dir}}/naps.toml\"]\nstart_wait = \"60s\"\n[nats]\nreplicas = 3\n[scheduler]\noffline_after = \"30s\"\n" +
				"[collector]\nmeasure = \"shared\"\nbeat_every = \"1s\"\nack_wait = \"3s\"\n",
		}, newWires(t))
		// An election takes up to 9 s, and longer where much else runs.
		// TestANodeThatStandsStillIsLeft pauses leaders.
		short := c.faultsOfNodes(4*time.Second, 30*time.Second)
		for _, f := range []fault{short[0], short[2]} {
			c.do(f)
		}
		c.judge()
		return
	}
	c := newChaos(t, budgets{
		lanes: 5, programs: 4, nap: "9", every: 250 * time.Millisecond, offline: time.Minute, pings: shippedPings(t),
		config: "suites = [\"{{dir}}/naps.toml\"]\n[nats]\nreplicas = 3\n[collector]\nmeasure = \"shared\"\n",
	}, newNetworks(t))
	t.Cleanup(c.report)
	const lasting, gap = 30 * time.Second, 15 * time.Second
	for _, f := range slices.Concat(c.faultsOfNodes(lasting, gap), c.restarts(time.Hour, gap), c.faultsOfParts(lasting, gap, 20*time.Second), c.faultsOfCollectors(gap)) {
		c.do(f)
	}
	c.judge()
}
