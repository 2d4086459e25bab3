package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
	"github.com/tachobench/tacho/internal/pgserver"
)

// natsServer builds the program that a farm of several cores runs beside Tacho, once. It is built without the race detector:
// the three nodes of a cluster compute more than all that is tested on them.
var natsServer = sync.OnceValues(func() (file string, err error) {
	file = filepath.Join(filepath.Dir(binary), "nats-server")
	out, err := exec.Command("go", "build", "-o", file, "github.com/nats-io/nats-server/v2").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building nats-server: %w: %s", err, out)
	}
	return file, nil
})

// nodes are three processes of NATS that form one cluster.
type nodes struct {
	t       *testing.T
	links   links
	files   [3]string
	running [3]*exec.Cmd
}

// newNodes starts three nodes that reach one another, and notice soon when one does not answer.
func newNodes(t *testing.T, collectors ...events.CollectorName) *nodes {
	t.Helper()
	return newNodesOn(t, newWires(t), `ping_interval: "1s"`, collectors...)
}

// newNodesOn starts three nodes on links. pings is what their configuration says of pings.
func newNodesOn(t *testing.T, l links, pings string, collectors ...events.CollectorName) *nodes {
	t.Helper()
	n := &nodes{t: t, links: l}
	accounts := ""
	for _, name := range collectors {
		accounts += door.Account(name, "CORE", fmt.Sprintf("{ user: %s, password: n3ar }", name))
	}
	for i := range n.files {
		dir := t.TempDir()
		client, route := l.listens(i)
		var routes []string
		for j := range n.files {
			if i != j {
				routes = append(routes, l.route(i, j))
			}
		}
		// Nodes tell each other where they listen. Port 1 answers nobody, so that they use the links alone.
		text := fmt.Sprintf("server_name: n%d\nlisten: %q\nlog_file: %q\n%s\njetstream { store_dir: %q, sync_interval: always, max_file_store: 1TB }\n"+
			"cluster { name: c, listen: %q, advertise: \"127.0.0.1:1\", no_advertise: true, routes: [ \"nats://%s\" ] }\n"+
			"accounts {\n CORE: { jetstream: enabled, users: [ { user: core, password: s3cret } ]\n%s }\n%s}\n",
			i, client, filepath.Join(dir, "log"), pings, filepath.Join(dir, "data"), route, strings.Join(routes, `", "nats://`), door.CoreExports(), accounts)
		n.files[i] = filepath.Join(dir, "nats.conf")
		if err := os.WriteFile(n.files[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(n.kill)
	n.start()
	n.awaitQuorum()
	return n
}

// awaitQuorum waits until the three can store something together.
func (n *nodes) awaitQuorum() {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), time.Minute)
	defer cancel()
	nc, err := nats.Connect(n.url("core", "s3cret"), nats.RetryOnFailedConnect(true), nats.ReconnectWait(100*time.Millisecond), nats.MaxReconnects(-1))
	if err != nil {
		n.t.Fatal(err)
	}
	defer nc.Close()
	js, err := natsjs.New(nc)
	if err != nil {
		n.t.Fatal(err)
	}
	err = errors.New("not tried")
	for err != nil {
		if ctx.Err() != nil {
			n.t.Fatalf("the cluster does not form: %v", err)
		}
		try, cancel := context.WithTimeout(ctx, time.Second) // a node without a leader never answers
		_, err = js.CreateStream(try, natsjs.StreamConfig{Name: "QUORUM", Replicas: 3, Storage: natsjs.MemoryStorage})
		cancel()
	}
	_ = js.DeleteStream(ctx, "QUORUM") // if the stream stays, the next call finds it
}

// url returns the URLs of all of them for a user.
func (n *nodes) url(user, password string) string {
	var all []string
	for i := range n.files {
		all = append(all, fmt.Sprintf("nats://%s:%s@%s", user, password, n.links.client(i)))
	}
	return strings.Join(all, ",")
}

func (n *nodes) start() {
	n.t.Helper()
	for i := range n.files {
		n.startOne(i)
	}
}

func (n *nodes) startOne(i int) {
	n.t.Helper()
	program, err := natsServer()
	if err != nil {
		n.t.Fatal(err)
	}
	cmd := n.links.command(i, program, "--config", n.files[i])
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.running[i] = cmd
}

// end ends node i by a signal and waits for it.
func (n *nodes) end(i int, sig syscall.Signal) {
	cmd := n.running[i]
	if cmd == nil {
		return
	}
	n.running[i] = nil
	_ = cmd.Process.Signal(sig) // it may have ended
	_ = cmd.Wait()              // its error says how it ended
}

// kill kills all of them at once.
func (n *nodes) kill() {
	for _, cmd := range n.running {
		if cmd != nil {
			_ = cmd.Process.Kill() // it may have ended
		}
	}
	for i := range n.running {
		n.end(i, syscall.SIGKILL)
	}
}

func (n *nodes) signal(i int, sig syscall.Signal) {
	n.t.Helper()
	if err := n.running[i].Process.Signal(sig); err != nil {
		n.t.Fatal(err)
	}
}

// inCluster is a core in this process, with a clock that can be set, three nodes, and two collectors in processes of their
// own.
type inCluster struct {
	*site
	nodes *nodes
	// ahead is how far the core's clock is ahead of the other clocks.
	ahead atomic.Int64
}

const offlineInCluster = 15 * time.Second

func newInCluster(t *testing.T) *inCluster {
	c := &inCluster{site: newSite(t), nodes: newNodes(t, "left", "right")}
	// Each of the two jobs of a request has 3 programs that nap twice, so it lasts much longer than a collector may be
	// silent.
	for _, nap := range []string{`"0.1"`, `"0.15"`, `"0.2"`} {
		c.replace("naps.toml", nap, `"7"`)
	}
	c.replace("naps.toml", "[[profile]]\nname = \"slow\"\n", "")
	c.replace("quick.toml", `offline_after = "3s"`, fmt.Sprintf("offline_after = %q", offlineInCluster))
	c.replace("quick.toml", `beat_every = "300ms"`, `beat_every = "1s"`)
	c.replace("quick.toml", "max_attempts = 20", "max_attempts = 3")
	c.replace("quick.toml", `start_wait = "2s"`, "start_wait = \"30s\"\n\n[nats]\nreplicas = 3")
	pg, err := pgserver.Start(t.Context(), pgserver.Config{Dir: filepath.Join(t.TempDir(), "postgres"), Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := pg.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	listen := freePort(t)
	variables := map[string]string{
		"TACHO_NATS_URL": c.nodes.url("core", "s3cret"), "TACHO_DATABASE_URL": pg.URL(), "TACHO_TOKEN": "t",
		"TACHO_SERVER": "http://" + listen, "HOME": c.dir,
	}
	for name, value := range variables {
		c.env = append(c.env, name+"="+value)
	}
	core := &cli.Program{
		Stdout: &c.log, Stderr: &c.log, Getenv: func(name string) string { return variables[name] },
		Clock: func() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) },
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() {
		ended <- core.Main(ctx, append([]string{"serve", "scheduler,projector,watchdog,website", "--listen", listen}, c.args...))
	}()
	t.Cleanup(func() { stop(); <-ended })
	c.eventually("the core serves", 60*time.Second, func() bool { return strings.Contains(c.log.String(), "serving    ") })
	c.must("suite", "publish", c.dir+"/naps.toml")
	for set, name := range []string{"left", "right"} {
		c.must("collector", "add", name, "--target", "here", "--set", strconv.Itoa(set))
		c.with("TACHO_NATS_URL="+c.nodes.url(name, "n3ar")).begin("collector", "run", name)
	}
	return c
}

// attempts waits until both collectors are in a job of a new request.
func (c *inCluster) attempts(tag string) {
	c.t.Helper()
	c.must("request", "master", tag)
	c.eventually("both are at work", 60*time.Second, func() bool { return strings.Count(c.must("collector", "list"), "benchmarking") == 2 })
}

func (c *inCluster) done(what string) {
	c.t.Helper()
	c.eventually("everything is done after "+what, 180*time.Second, func() bool {
		out, _, code := c.run("queue", "--json")
		return code == cli.ExitDone && strings.TrimSpace(out) == "[]"
	})
	lost, failed, attempts := 0, 0, map[events.JobID]int{}
	for _, e := range c.events() {
		// The other events cannot be lost or doubled.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.AttemptLost:
			lost++
			c.t.Errorf("event %d: attempt %d of job %s is lost: %s", e.Seq, f.Attempt, f.JobID, f.Reason)
		case events.CollectorSilent:
			c.t.Errorf("event %d: collector %s is said to be silent: %s", e.Seq, f.Name, f.Reason)
		case events.AlertRaised:
			if f.Kind == events.AlertOffline {
				c.t.Errorf("event %d: %s", e.Seq, f.Message)
			}
		case events.JobDequeued:
			if attempts[f.Job.ID]++; attempts[f.Job.ID] > 1 {
				c.t.Errorf("event %d: job %s is begun %d times", e.Seq, f.Job.ID, attempts[f.Job.ID])
			}
		case events.JobFinished:
			if f.Outcome != events.Success {
				failed++
			}
		}
	}
	c.t.Logf("after %s: %d jobs, %d attempts lost, %d jobs failed", what, len(attempts), lost, failed)
	c.checkLog()
	if c.t.Failed() {
		c.t.FailNow()
	}
}

// Attempts last longer than a collector may be silent. Whatever happens meanwhile to the path of heartbeats and to the clock
// of the core, no attempt is lost or doubled, and no collector is called offline.
func TestNobodyIsOfflineBecauseTheClusterIs(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := newInCluster(t)

	c.attempts("v1")
	pass(2 * offlineInCluster) // the bucket of heartbeats has a past
	c.nodes.kill()
	c.nodes.start()
	c.done("all nodes were restarted at once")

	c.attempts("v2")
	for i := range 2 {
		c.nodes.signal(i, syscall.SIGSTOP)
		pass(offlineInCluster + 4*time.Second)
		c.nodes.signal(i, syscall.SIGCONT)
		c.nodes.awaitQuorum()
	}
	c.done("one node after the other was paused")

	c.attempts("v3")
	for _, ahead := range []time.Duration{time.Hour, 0, -time.Hour, 0} {
		c.ahead.Store(int64(ahead))
		pass(offlineInCluster / 3)
	}
	c.done("the core's clock was an hour wrong for a while")
}
