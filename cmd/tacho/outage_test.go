package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
	"github.com/tachobench/tacho/internal/pgserver"
)

// outages are how long things are down. `make outage` sets TACHO_OUTAGE=full, which is like a bad night.
type outages struct{ artifacts, log, tables time.Duration }

func lengths() outages {
	if os.Getenv("TACHO_OUTAGE") == "full" {
		return outages{90 * time.Second, 60 * time.Second, 60 * time.Second}
	}
	// Here the watchdog reports the log after ten seconds, and the database after two.
	return outages{5 * time.Second, 14 * time.Second, 5 * time.Second}
}

// farm is everything that can be down by itself: the artifact server, NATS and Postgres.
type farm struct {
	*site
	shop    *shop
	address string
	store   string
	nats    *server.Server
	dir     string
	pg      *pgserver.Server
	// server is the address of the website, near the collector.
	server string
	near   *process
}

// newFarm starts a farm of which the configuration and the suite may be changed.
func newFarm(t *testing.T, change ...func(*site)) *farm {
	t.Helper()
	f := newServers(t, change...)
	f.serve("scheduler,projector,watchdog,website")
	f.near = f.join("near", 0)
	return f
}

// newServers starts NATS and Postgres for a farm.
func newServers(t *testing.T, change ...func(*site)) *farm {
	t.Helper()
	sizes := map[string]int{}
	for i := range 40 {
		sizes[fmt.Sprintf("v%d", i)] = 1000
	}
	from := newShop(t, sizes)
	f := &farm{site: newSiteOf(t, from), shop: from, address: freePort(t), store: t.TempDir(), dir: filepath.Join(t.TempDir(), "postgres")}
	f.replace("naps.toml", `"0.01"`, `"0.3"`)
	path := filepath.Join(f.site.dir, "quick.toml")
	conf, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// A collector that comes back needs some seconds until it is heard again.
	conf = []byte(strings.NewReplacer("max_attempts = 20", "max_attempts = 1", `offline_after = "3s"`, `offline_after = "20s"`).Replace(string(conf)))
	if err := os.WriteFile(path, append(conf, "\n[watchdog]\nlag_for = \"2s\"\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(f.site)
	}
	f.startNATS()
	f.startPostgres()
	t.Cleanup(func() {
		f.stopNATS()
		f.stopPostgres()
	})
	return f
}

// serve starts parts, with a website among them, and publishes the suite.
func (f *farm) serve(parts string) {
	f.t.Helper()
	listen := freePort(f.t)
	f.server = "http://" + listen
	f.env = append(f.env, "TACHO_NATS_URL=nats://core:s3cret@"+f.address, "TACHO_DATABASE_URL="+f.pg.URL(), "TACHO_TOKEN=t", "TACHO_SERVER="+f.server)
	f.begin("serve", parts, "--listen", listen).says(f.site, "serving    ")
	f.must("suite", "publish", f.site.dir+"/naps.toml")
}

// join registers a collector of a lane and starts it.
func (f *farm) join(name string, set int, flags ...string) *process {
	f.t.Helper()
	f.must("collector", "add", name, "--target", "here", "--set", strconv.Itoa(set))
	return f.with("TACHO_NATS_URL=nats://" + name + ":n3ar@" + f.address).begin(append([]string{"collector", "run", name}, flags...)...)
}

func (f *farm) startNATS() {
	f.t.Helper()
	host, port, err := net.SplitHostPort(f.address)
	if err != nil {
		f.t.Fatal(err)
	}
	collectors := ""
	for _, name := range []events.CollectorName{"near", "far"} {
		collectors += door.Account(name, "CORE", fmt.Sprintf("{ user: %s, password: n3ar }", name))
	}
	o := natsConf(f.t, "{ user: core, password: s3cret }", collectors)
	o.Host, o.NoSigs, o.NoLog, o.StoreDir, o.JetStreamMaxStore, o.SyncAlways = host, true, true, f.store, 1<<50, true
	if o.Port, err = strconv.Atoi(port); err != nil {
		f.t.Fatal(err)
	}
	if f.nats, err = server.NewServer(&o); err != nil {
		f.t.Fatal(err)
	}
	f.nats.Start()
	if !f.nats.ReadyForConnections(30 * time.Second) {
		f.t.Fatal("the NATS server does not start")
	}
}

func (f *farm) stopNATS() {
	f.nats.Shutdown()
	f.nats.WaitForShutdown()
}

func (f *farm) startPostgres() {
	f.t.Helper()
	pg, err := pgserver.Start(f.t.Context(), pgserver.Config{Dir: f.dir, Fast: true})
	if err != nil {
		f.t.Fatal(err)
	}
	f.pg = pg
}

func (f *farm) stopPostgres() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := f.pg.Stop(ctx); err != nil {
		f.t.Error(err)
	}
}

// pass lets real time pass: an outage has a length.
func pass(d time.Duration) { <-time.After(d) }

// busy asks for more and waits until a job runs.
func (f *farm) busy(first, n int) {
	f.t.Helper()
	for i := range n {
		f.must("request", "master", fmt.Sprintf("v%d", first+i))
	}
	f.eventually("a job runs", 60*time.Second, func() bool { return strings.Contains(f.must("collector", "list"), "benchmarking") })
}

// done waits until all requests have ended.
func (f *farm) done(what string) {
	f.t.Helper()
	f.eventually("everything is done after "+what, 180*time.Second, func() bool {
		out, _, code := f.run("queue", "--json")
		return code == cli.ExitDone && strings.TrimSpace(out) == "[]"
	})
}

// Each of the three goes down while jobs run. No job fails, no attempt is lost, and everything is measured exactly once. The
// watchdog raises an alert during the outage and clears it afterwards. One lost attempt would fail its job here.
func TestOutagesCostNobodyAJob(t *testing.T) {
	t.Parallel() // it waits more than it works
	f, down := newFarm(t), lengths()

	f.busy(0, 3)
	f.shop.closed.Store(true)
	pass(down.artifacts)
	f.shop.closed.Store(false)
	f.done("the artifact server was down")

	f.busy(10, 3)
	f.stopNATS()
	pass(down.log)
	f.startNATS()
	f.done("NATS was down")

	f.busy(20, 3)
	f.stopPostgres()
	pass(down.tables)
	f.startPostgres()
	f.done("Postgres was down")

	f.eventually("the watchdog is silent", 60*time.Second, func() bool {
		out, _, code := f.run("alerts", "--json")
		return code == cli.ExitDone && strings.TrimSpace(out) == "[]"
	})
	raised, cleared, measured := map[events.AlertKind]int{}, map[events.AlertKey]bool{}, map[string]bool{}
	completed := 0
	for _, e := range f.events() {
		// The other events say nothing about outages.
		//exhaustive:ignore
		switch fact := e.Fact.(type) {
		case events.AlertRaised:
			t.Logf("%s event %d: alert %s: %s", e.Time.Format(time.TimeOnly), e.Seq, fact.Key, fact.Message)
			raised[fact.Kind]++
			cleared[fact.Key] = false
		case events.AlertCleared:
			t.Logf("%s event %d: cleared %s: %s", e.Time.Format(time.TimeOnly), e.Seq, fact.Key, fact.Reason)
			cleared[fact.Key] = true
		case events.AttemptLost:
			t.Errorf("event %d: attempt %d of job %s is lost: %s", e.Seq, fact.Attempt, fact.JobID, fact.Reason)
		case events.JobFinished:
			if fact.Outcome != events.Success {
				t.Errorf("event %d: job %s: %s", e.Seq, fact.JobID, fact.Reason)
			}
		case events.RequestCompleted:
			completed++
		case events.TestCasesMeasured:
			for _, c := range fact.Cases {
				key := string(fact.Artifact.Tag) + " " + c.TestCase.String()
				if measured[key] {
					t.Errorf("event %d: %s is measured twice", e.Seq, key)
				}
				measured[key] = true
			}
		}
	}
	if completed != 9 || len(measured) != 9*6 {
		t.Errorf("%d requests completed, %d test cases measured", completed, len(measured))
	}
	for _, kind := range []events.AlertKind{events.AlertUnreachable, events.AlertDatabase} {
		if raised[kind] == 0 {
			t.Errorf("no alert of kind %s", kind)
		}
	}
	for key, over := range cleared {
		if !over {
			t.Errorf("alert %s still stands", key)
		}
	}
	if out := f.must("replay", "--verify"); !strings.Contains(out, "identical") {
		t.Error(out)
	}
}

// The core is stopped during an attempt, for longer than a collector may be silent. It heard no collector meanwhile, so it
// calls none silent.
func TestACoreThatStoodStillLosesNoAttempt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.replace("naps.toml", `"0.1"`, `"1.5"`)
	s.start()
	s.must("request", "master", "v1")
	s.eventually("a job runs", 60*time.Second, func() bool { return strings.Contains(s.must("collector", "list"), "benchmarking") })
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := s.up.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if sig == syscall.SIGSTOP {
			pass(6 * time.Second)
		}
	}
	s.awaitDone("v1")
	for _, e := range s.events() {
		// The other events say nothing about silence.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.AttemptLost:
			t.Errorf("event %d: attempt %d of job %s is lost: %s", e.Seq, f.Attempt, f.JobID, f.Reason)
		case events.CollectorSilent:
			t.Errorf("event %d: collector %s is said to be silent: %s", e.Seq, f.Name, f.Reason)
		}
	}
	s.checkLog()
}
