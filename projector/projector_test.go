package projector_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/pgtest"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/readmodel"
)

func TestMain(m *testing.M) {
	if os.Getenv(childURL) != "" {
		os.Exit(child())
	}
	os.Exit(pgtest.Main(m))
}

// patience bounds each wait of a test. A test that passes never waits that long.
const patience = 2 * time.Minute

func database(t testing.TB) string {
	t.Helper()
	return pgtest.New(t, "migrated", readmodel.Migrate)
}

// running is a projector that a test started.
type running struct {
	cancel context.CancelFunc
	err    error
	done   chan struct{}
}

func start(t testing.TB, c projector.Config) *running {
	t.Helper()
	return begin(t, projector.New(c).Run)
}

func begin(t testing.TB, run func(context.Context) error) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-r.done })
	return r
}

// stop ends the projector and returns what Run returned.
func (r *running) stop() error {
	r.cancel()
	<-r.done
	return r.err
}

// wait returns what Run returned by itself.
func (r *running) wait(t testing.TB) error {
	t.Helper()
	select {
	case <-r.done:
		return r.err
	case <-time.After(patience):
		t.Fatal("the projector went on")
		return nil
	}
}

func open(t testing.TB, url string) *readmodel.Reader {
	t.Helper()
	r, err := readmodel.OpenPools(t.Context(), url, readmodel.Patient(patience))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// await waits until the tables hold the event. It fails the test if the projector stops before.
func (r *running) await(t testing.TB, tables *readmodel.Reader, seq events.Seq) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-r.done:
			cancel()
		case <-stop:
		}
	}()
	if err := tables.WaitFor(ctx, seq); err != nil {
		select {
		case <-r.done:
			t.Fatal("the projector stopped: ", r.err)
		default:
			t.Fatal(err)
		}
	}
}

// project folds a whole log into a fresh database and returns its URL.
func project(t testing.TB, stored []events.Stored, size int) string {
	t.Helper()
	url := database(t)
	r := open(t, url)
	p := start(t, projector.Config{Log: newFeed("log", stored...), URL: url, BatchSize: size})
	p.await(t, r, events.Seq(len(stored)))
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	return url
}
