package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
	"github.com/tachobench/tacho/internal/pgserver"
)

// clockVariable names a file with the nanoseconds that the clock of a process is ahead. With it, the test binary is `tacho`.
const clockVariable = "TACHO_TEST_CLOCK"

// mainWithClock does what main does, with a clock that a test sets.
func mainWithClock(file string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var ahead atomic.Int64
	read := func() {
		if text, err := os.ReadFile(file); err == nil {
			if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
				ahead.Store(n)
			}
		}
	}
	read()
	go func() {
		for range time.Tick(100 * time.Millisecond) {
			read()
		}
	}()
	p := cli.New("chaos")
	p.Clock = func() time.Time { return jumped(time.Now(), time.Duration(ahead.Load())) }
	return p.Main(ctx, os.Args[1:])
}

// jumped returns what time.Now returns after the clock of the machine was set ahead: another time of day, and the same reading
// of the clock that never jumps. Package time has no way to say so. Of a time with such a reading, the first word holds the
// seconds of the day's time from bit 30 on.
func jumped(now time.Time, ahead time.Duration) time.Time {
	out := now
	*(*uint64)(unsafe.Pointer(&out)) += uint64(ahead/time.Second) << 30
	if out.Sub(now) != 0 || out.Round(0).Sub(now.Round(0)) != ahead.Truncate(time.Second) {
		panic("package time keeps its times in another way than this test believes")
	}
	return out
}

// budgets are how long things take in a form of the chaos.
type budgets struct {
	lanes int
	// programs is how many programs a job has, and nap how long each of its two runs takes.
	programs int
	nap      string
	// config is the configuration, and pings what that of the nodes says of pings.
	config, pings string
	// every is the pause between two questions of a witness.
	every time.Duration
	// offline is after how long a collector is called silent.
	offline time.Duration
}

// chaos is a farm of which everything can fail: three nodes of NATS, Postgres, two processes of the core with all its parts, and
// one collector for each lane.
type chaos struct {
	*site
	budgets
	nodes      *nodes
	js         natsjs.JetStream
	pg         *pgserver.Server
	pgDir      string
	urls       []string
	cores      []*process
	collectors []*process
	witnesses  []*witness
	stopWatch  func()
	tag        int
	figures    []*figures
}

func newChaos(t *testing.T, b budgets, l links) *chaos {
	t.Helper()
	c := &chaos{site: newSite(t), budgets: b}
	c.write("quick.toml", strings.ReplaceAll(b.config, "{{dir}}", c.dir))
	c.write("naps.toml", c.suite())
	var names []events.CollectorName
	for i := range b.lanes {
		names = append(names, collectorOf(i))
	}
	c.nodes = newNodesOn(t, l, b.pings, names...)
	c.connect()
	c.startPostgres()
	t.Cleanup(c.stopPostgres)
	c.env = append(c.env, "TACHO_NATS_URL="+c.nodes.url("core", "s3cret"), "TACHO_DATABASE_URL="+c.pg.URL(), "TACHO_TOKEN=t", "HOME="+c.dir)
	for range 2 {
		c.urls = append(c.urls, "http://"+freePort(t))
	}
	c.cores = make([]*process, len(c.urls))
	c.env = append(c.env, "TACHO_SERVER="+c.urls[0])
	for i := range c.cores {
		c.startCore(i)
	}
	c.must("suite", "publish", c.dir+"/naps.toml")
	c.collectors = make([]*process, b.lanes)
	for i := range c.collectors {
		c.must("collector", "add", string(collectorOf(i)), "--target", "here", "--set", strconv.Itoa(i))
		c.startCollector(i)
	}
	c.eventually("all collectors are there", time.Minute, func() bool { return strings.Count(c.must("collector", "list"), "idle") == b.lanes })
	c.witnesses, c.stopWatch = watch(t, b.every, c.urls...)
	return c
}

func collectorOf(i int) events.CollectorName { return events.CollectorName(fmt.Sprintf("c%d", i)) }

func (c *chaos) write(file, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, file), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// suite returns a suite with one job per lane.
func (c *chaos) suite() string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, "naps.toml"))
	if err != nil {
		c.t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(text), "[[benchmark]]")
	head = strings.NewReplacer("sets = 2", fmt.Sprintf("sets = %d", c.lanes), "[[profile]]\nname = \"slow\"\n", "").Replace(head)
	for lane := range c.lanes {
		for p := range c.programs {
			head += fmt.Sprintf("[[benchmark]]\nname = \"nap-%d-%d\"\ncategory = \"primary\"\nsets = { here = %d }\nsource = \"nap\"\ncommand = [\"/bin/sh\", \"{source}/nap.sh\", %q]\n\n",
				lane, p, lane, c.nap)
		}
	}
	return head
}

// connect connects the test to the log.
func (c *chaos) connect() {
	c.t.Helper()
	nc, err := nats.Connect(c.nodes.url("core", "s3cret"), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.PingInterval(time.Second), nats.Timeout(time.Second))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(nc.Close)
	if c.js, err = natsjs.New(nc); err != nil {
		c.t.Fatal(err)
	}
}

func (c *chaos) startPostgres() {
	c.t.Helper()
	if c.pgDir == "" {
		c.pgDir = filepath.Join(c.t.TempDir(), "postgres")
	}
	pg, err := pgserver.Start(c.t.Context(), pgserver.Config{Dir: c.pgDir, Fast: true})
	if err != nil {
		c.t.Fatal(err)
	}
	c.pg = pg
}

func (c *chaos) stopPostgres() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := c.pg.Stop(ctx); err != nil {
		c.t.Error(err)
	}
}

// program returns a command of tacho with a clock that setClock sets.
func (c *chaos) program(name string, args ...string) *exec.Cmd {
	c.t.Helper()
	if _, err := os.Stat(c.clock(name)); err != nil {
		c.setClock(name, 0)
	}
	return exec.Command(os.Args[0], args...)
}

func (c *chaos) clock(name string) string { return filepath.Join(c.dir, "clock-"+name) }

func (c *chaos) setClock(name string, ahead time.Duration) {
	c.t.Helper()
	c.write("clock-"+name, strconv.FormatInt(int64(ahead), 10))
}

func (c *chaos) startCore(i int) {
	c.t.Helper()
	name := fmt.Sprintf("core%d", i)
	s := c.with(clockVariable + "=" + c.clock(name))
	cmd := c.program(name, "serve", "scheduler,projector,watchdog,website", "--listen", strings.TrimPrefix(c.urls[i], "http://"),
		"--data", filepath.Join(c.dir, name), "--config", filepath.Join(c.dir, "quick.toml"))
	c.cores[i] = s.beginAs(cmd)
	c.cores[i].says(s, "serving    ")
}

func (c *chaos) startCollector(i int) {
	c.t.Helper()
	name := string(collectorOf(i))
	s := c.with("TACHO_NATS_URL="+c.nodes.url(name, "n3ar"), clockVariable+"="+c.clock(name))
	c.collectors[i] = s.beginAs(c.program(name, slices.Concat(c.args, []string{"collector", "run", name})...))
}

// leader returns the number of the node that leads the log.
func (c *chaos) leader() (number int) {
	c.t.Helper()
	c.eventually("the log has a leader", 30*time.Second, func() bool {
		ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Second)
		defer cancel()
		s, err := c.js.Stream(ctx, "EVENTS")
		if err != nil || s.CachedInfo().Cluster == nil {
			return false
		}
		n, err := strconv.Atoi(strings.TrimPrefix(s.CachedInfo().Cluster.Leader, "n"))
		number = n
		return err == nil
	})
	return number
}

// whole reports whether every stream has all its replicas, up to date; last is the end of the log.
func (c *chaos) whole() (last events.Seq, ok bool) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 3*time.Second)
	defer cancel()
	list := c.js.ListStreams(ctx)
	seen := 0
	for s := range list.Info() {
		seen++
		if s.Cluster == nil || s.Cluster.Leader == "" || len(s.Cluster.Replicas) != 2 && s.Config.Replicas == 3 {
			return 0, false
		}
		for _, r := range s.Cluster.Replicas {
			if !r.Current || r.Offline {
				return 0, false
			}
		}
		if s.Config.Name == "EVENTS" {
			last = events.Seq(s.State.LastSeq)
		}
	}
	return last, list.Err() == nil && seen > 3
}

// calm waits until all is well: the nodes are current, both websites are ready and take appends, and no alert stands.
func (c *chaos) calm() {
	c.t.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	why := ""
	for why = c.unrest(); why != ""; why = c.unrest() {
		if time.Now().After(deadline) {
			c.t.Fatalf("it does not become calm: %s", why)
		}
		pass(100 * time.Millisecond)
	}
}

// unrest returns what is not well; empty if all is.
func (c *chaos) unrest() string {
	for _, w := range c.witnesses {
		for what, of := range map[string]func(*witness) []sample{"append": appendsOf, "/readyz": readiesOf, "the start page": pagesOf} {
			w.mu.Lock()
			list := of(w)
			w.mu.Unlock()
			if len(list) == 0 || !list[len(list)-1].ok || time.Since(list[len(list)-1].answered) > 2*time.Second {
				return fmt.Sprintf("%s of %s: %+v", what, w.url, list[max(0, len(list)-1):])
			}
			if alerts := list[len(list)-1].alerts; len(alerts) > 0 {
				return fmt.Sprintf("%s has the alerts %v", w.url, alerts)
			}
		}
		ctx, cancel := context.WithTimeout(c.t.Context(), 3*time.Second)
		alerts, err := w.client.Alerts(ctx, 0)
		cancel()
		if err != nil || len(alerts) > 0 {
			return fmt.Sprintf("alerts at %s: %+v, %v", w.url, alerts, err)
		}
	}
	if _, ok := c.whole(); !ok {
		return "the nodes are not current"
	}
	return ""
}

// head returns the end of the log.
func (c *chaos) head() (last events.Seq) {
	c.t.Helper()
	c.eventually("the end of the log is known", 30*time.Second, func() bool {
		seq, ok := c.whole()
		last = seq
		return ok
	})
	return last
}

// busy makes sure that there is work for the whole length of a fault, and that all collectors are at it.
func (c *chaos) busy() {
	c.t.Helper()
	var open []json.RawMessage
	if err := json.Unmarshal([]byte(c.must("queue", "--json")), &open); err != nil {
		c.t.Fatal(err)
	}
	for range 2 - min(2, len(open)) {
		c.tag++
		tag := fmt.Sprintf("v%d", c.tag)
		if err := os.MkdirAll(filepath.Join(c.dir, "artifacts", tag), 0o755); err != nil {
			c.t.Fatal(err)
		}
		c.must("request", "master", tag)
	}
	// After a collector was away, the others wait for it to end the request.
	c.eventually("collectors are at work", 3*time.Minute, func() bool { return strings.Count(c.must("collector", "list"), "benchmarking") >= (c.lanes+1)/2 })
}

// beats repeats the newest heartbeat of each collector, as often as they come in a time.
func (c *chaos) beats(of time.Duration) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	bucket, err := c.js.Stream(ctx, "KV_tacho_beats")
	if err != nil {
		c.t.Fatal(err)
	}
	for range int(of / (5 * time.Second)) {
		for i := range c.lanes {
			m, err := bucket.GetLastMsgForSubject(ctx, "$KV.tacho_beats."+string(collectorOf(i)))
			if err != nil {
				c.t.Fatal(err)
			}
			if _, err := c.js.PublishMsgAsync(&nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	select {
	case <-c.js.PublishAsyncComplete():
	case <-ctx.Done():
		c.t.Fatal("the heartbeats are not stored")
	}
}

// database returns the process of Postgres and all below it.
func (c *chaos) database() []int {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.pgDir, "data", "postmaster.pid"))
	if err != nil {
		c.t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	first, err := strconv.Atoi(line)
	if err != nil {
		c.t.Fatal(err)
	}
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		c.t.Fatal(err)
	}
	all := []int{first}
	for line := range strings.Lines(string(out)) {
		var pid, parent int
		if _, err := fmt.Sscan(line, &pid, &parent); err == nil && parent == first {
			all = append(all, pid)
		}
	}
	return all
}

func (c *chaos) signalAll(pids []int, sig syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig) // it may have ended
	}
}
