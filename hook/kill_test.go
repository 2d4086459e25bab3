package hook

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/shell"
)

// These make this test program run a hook instead: the log's server, the receiver, and the file with the place.
const (
	childNATS     = "TACHO_TEST_HOOK_NATS"
	childReceiver = "TACHO_TEST_HOOK_RECEIVER"
	childPlace    = "TACHO_TEST_HOOK_PLACE"
)

func TestMain(m *testing.M) {
	if os.Getenv(childNATS) != "" {
		fmt.Fprintln(os.Stderr, runChild())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func openLog(ctx context.Context, url string) (*jetstream.Log, *nats.Conn, error) {
	nc, err := nats.Connect(url)
	if err != nil {
		return nil, nil, err
	}
	log, err := jetstream.Open(ctx, nc, jetstream.Config{MaxBytes: 64 << 20, BeatTTL: time.Minute})
	return log, nc, err
}

// runChild runs a hook until the process is killed, or until the test ends and with it the input.
func runChild() error {
	ctx := context.Background()
	log, _, err := openLog(ctx, os.Getenv(childNATS))
	if err != nil {
		return err
	}
	logger := slog.New(slog.DiscardHandler)
	around := shell.New(shell.Config{Log: log, Clock: time.Now, Logger: logger})
	one := New(Config{
		Name: "ci", URL: os.Getenv(childReceiver), Secret: secret, Filter: Filter{On: []string{"request.created"}}, Place: os.Getenv(childPlace),
		Log: log, Ledger: around, Failing: func(error) {}, Clock: time.Now, Logger: logger,
	})
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return around.Run(running) })
	g.Go(func() error { return one.Run(running) })
	g.Go(func() error {
		_, err := io.Copy(io.Discard, os.Stdin)
		return cmp.Or(err, io.EOF)
	})
	return g.Wait()
}

// child is a process with a hook. kill ends it as a crash would.
func child(t *testing.T, env ...string) (kill func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self) //nolint:gosec // this very program
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(kill)
	return kill
}

// The process dies when the receiver has the event, before it can know that and save its place. Its successor delivers
// the event again, with the same id, and nothing is left out.
func TestAKilledHookDeliversTheEventAgain(t *testing.T) {
	server, err := natsserver.Start(natsserver.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", Unsynced: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	log, nc, err := openLog(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	r := &rig{t: t, log: eventlog.Log(log), dir: t.TempDir()}
	kills := make(chan func(), 1)
	to := receive(t, status(http.StatusNoContent), func(http.ResponseWriter, *http.Request) { (<-kills)() })
	c := r.config("ci", to.URL)
	env := []string{childNATS + "=" + server.URL(), childReceiver + "=" + to.URL, childPlace + "=" + c.Place}
	kill := child(t, env...)
	kills <- kill
	r.until("the hook has begun", func() bool {
		_, err := os.Stat(filepath.Clean(c.Place))
		return err == nil
	})
	r.record(created("r1", "", ""), created("r2", "", ""), created("r3", "", ""))
	first, second := to.got(t), to.got(t)
	kill()
	child(t, env...)
	again, third := to.got(t), to.got(t)
	if again.id() == first.id() { // it died before it saved that, too
		again, third = third, to.got(t)
	}
	if again.id() != second.id() || again.body != second.body {
		t.Errorf("after %v came %v", second, again)
	}
	for _, p := range []struct {
		post
		subject string
	}{{first, "request.r1"}, {second, "request.r2"}, {third, "request.r3"}} {
		if got := p.header.Get("ce-subject"); got != p.subject {
			t.Errorf("%s came where %s was expected", got, p.subject)
		}
	}
}
