package jetstream_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/freeport"
	"github.com/tachobench/tacho/internal/natsserver"
)

// serverDir makes this test program run a server on a directory instead, until its input ends.
const serverDir = "TACHO_TEST_SERVER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serverDir); dir != "" {
		serve(dir)
		return
	}
	m.Run()
}

func serve(dir string) {
	s, err := natsserver.Start(natsserver.Config{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	fmt.Println(s.URL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	s.Shutdown()
}

// process is a server in a process of its own.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	first string // its first line: its URL, or why it did not start
}

func spawn(t *testing.T, dir string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(self)} //nolint:gosec // this very program
	p.cmd.Env = append(os.Environ(), serverDir+"="+dir)
	p.cmd.Stderr = os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	if p.first, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the server said nothing: %v", err)
	}
	p.first = strings.TrimSpace(p.first)
	return p
}

// kill ends the process as a crash would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func TestSecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	p := spawn(t, dir)
	_, err := natsserver.Start(natsserver.Config{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d", p.cmd.Process.Pid)) {
		t.Fatalf("a second server on the directory: %v", err)
	}
}

// TestKilledServer kills the server again and again while events are appended, single and in batches, and while a
// cursor follows across all of it on another connection. Every answered append is stored, no batch is torn, and no
// event in between is missing.
func TestKilledServer(t *testing.T) {
	const rounds = 4
	dir := t.TempDir()
	acked := map[string]events.Seq{}
	var reached events.Seq
	for round := range rounds {
		p := spawn(t, dir)
		nc, err := nats.Connect(p.first)
		if err != nil {
			t.Fatal(err)
		}
		l := open(t, nc, jetstream.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var wg sync.WaitGroup
		enough := make(chan struct{})
		for w := range 3 {
			wg.Go(func() {
				n := events.CollectorName(fmt.Sprintf("w%d-%d", round, w))
				for version := events.Seq(0); ctx.Err() == nil; {
					a := appendOf(n, version, 1+4*(w%2)) // one of them writes batches
					seq, err := l.Append(ctx, a)
					if err != nil {
						return
					}
					version = seq
					mu.Lock()
					for i, e := range a.Events {
						acked[e.ID] = seq - events.Seq(len(a.Events)-1-i)
					}
					if len(acked) > 100*(round+1) {
						select {
						case <-enough:
						default:
							close(enough)
						}
					}
					mu.Unlock()
				}
			})
		}
		<-enough
		p.kill()
		cancel()
		wg.Wait()
		nc.Close()

		reached = checkAcked(t, dir, acked, reached)
	}
}

// checkAcked restarts the server in this process and compares the log with the answers. It returns the end of the log,
// which must not be before its earlier end.
func checkAcked(t *testing.T, dir string, acked map[string]events.Seq, reached events.Seq) events.Seq {
	t.Helper()
	srv, err := natsserver.Start(natsserver.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Shutdown()
	nc, err := srv.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	l := open(t, nc, jetstream.Config{})
	head, err := l.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if head.Last < reached {
		t.Fatalf("the log ends at %d, it had %d", head.Last, reached)
	}
	cursor, err := l.Follow(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer cursor.Close()
	found := map[string]events.Seq{}
	perWriter := map[events.Subject]int{}
	for at := events.Seq(0); at < head.Last; {
		got, err := cursor.Next(t.Context(), 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range got {
			found[s.Header[events.HeaderID]] = s.Seq
			perWriter[s.Subject]++
			at = s.Seq
		}
	}
	for id, seq := range acked {
		if found[id] != seq {
			t.Fatalf("event %s was acknowledged at %d and is at %d", id, seq, found[id])
		}
	}
	for subject, n := range perWriter {
		if strings.HasSuffix(string(subject), "-1") && n%5 != 0 {
			t.Fatalf("%s has %d events: a batch of 5 is torn", subject, n)
		}
	}
	return head.Last
}

// TestFollowSurvivesRestart restarts the server under a cursor.
func TestFollowSurvivesRestart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	r := newRestartable(t)
	l := open(t, r.nc, jetstream.Config{})
	cursor, err := l.Follow(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer cursor.Close()
	var version, seen events.Seq
	for range 3 {
		if version, err = l.Append(ctx, appendOf("a", version, 50)); err != nil {
			t.Fatal(err)
		}
		r.stop()
		r.start(t)
		if version, err = l.Append(ctx, appendOf("a", version, 50)); err != nil {
			t.Fatal(err)
		}
		for seen < version {
			got, err := cursor.Next(ctx, 7)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range got {
				if seen++; e.Seq != seen {
					t.Fatalf("event %d came, want %d", e.Seq, seen)
				}
			}
		}
	}
}

var lane = events.Lane{Target: "linux-x86", Set: 1}

func dispatched(place uint64) events.Event {
	job := events.JobSpec{ID: "j1", Target: lane.Target, Set: lane.Set}
	return eventlog.NewEvent(events.JobDispatched{Place: place, Job: job}, eventlog.Meta{Actor: "test"}, time.Now())
}

// TestWaitersSurviveRestart restarts the server under a collector that waits for a job and holds its name.
func TestWaitersSurviveRestart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	r := newRestartable(t)
	l := open(t, r.nc, jetstream.Config{})
	if err := l.EnsureLane(ctx, lane, 0); err != nil {
		t.Fatal(err)
	}
	b := eventlog.Beat{Name: "eider", Instance: "1"}
	if _, err := l.Claim(ctx, b, ""); err != nil {
		t.Fatal(err)
	}
	type result struct {
		d   eventlog.Delivery
		err error
	}
	taken := make(chan result)
	go func() {
		d, err := l.NextJob(ctx, lane)
		for errors.Is(err, eventlog.ErrNoLane) { // the server lost its consumer
			if err = l.EnsureLane(ctx, lane, 0); err == nil {
				d, err = l.NextJob(ctx, lane)
			}
		}
		taken <- result{d, err}
	}()
	r.stop()
	r.start(t)
	if _, err := l.Beat(ctx, b); err != nil {
		t.Fatalf("beat: %v", err)
	}
	if _, err := l.Claim(ctx, eventlog.Beat{Name: "eider", Instance: "2"}, ""); !errors.Is(err, eventlog.ErrNameHeld) {
		t.Fatalf("claim by another: %v", err)
	}
	if _, err := l.Append(ctx, eventlog.Append{Subject: events.LaneSubject(lane), Events: []events.Event{dispatched(1)}}); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	got := <-taken
	if got.err != nil {
		t.Fatalf("next job: %v", got.err)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the job came after %s", took)
	}
	if err := got.d.Ack(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestClosedConnection ends waiting cursors and appends at once.
func TestClosedConnection(t *testing.T) {
	r := newRestartable(t)
	l := open(t, r.nc, jetstream.Config{})
	cursor, err := l.Follow(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer cursor.Close()
	r.nc.Close()
	if _, err := cursor.Next(t.Context(), 1); !errors.Is(err, eventlog.ErrUnavailable) {
		t.Fatalf("next: %v", err)
	}
	if _, err := l.Append(t.Context(), appendOf("a", 0, 1)); !errors.Is(err, eventlog.ErrUnavailable) {
		t.Fatalf("append: %v", err)
	}
	if _, err := l.NextJob(t.Context(), lane); !errors.Is(err, eventlog.ErrUnavailable) {
		t.Fatalf("next job: %v", err)
	}
}

// restartable is a server that keeps its address and a client that comes back to it.
type restartable struct {
	cfg natsserver.Config
	srv *natsserver.Server
	nc  *nats.Conn
}

func newRestartable(t *testing.T) *restartable {
	t.Helper()
	return restartableWith(t, natsserver.Config{Dir: t.TempDir()})
}

func restartableWith(t *testing.T, cfg natsserver.Config) *restartable {
	t.Helper()
	addrs, err := freeport.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Listen = addrs[0]
	r := &restartable{cfg: cfg}
	r.start(t)
	t.Cleanup(func() { r.stop() })
	if r.nc, err = nats.Connect(r.srv.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.nc.Close)
	return r
}

func (r *restartable) start(t *testing.T) {
	t.Helper()
	var err error
	if r.srv, err = natsserver.Start(r.cfg); err != nil {
		t.Fatal(err)
	}
}

func (r *restartable) stop() { r.srv.Shutdown() }
