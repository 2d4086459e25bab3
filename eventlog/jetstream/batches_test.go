package jetstream_test

import (
	"errors"
	"strings"
	"testing"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/internal/natsserver"
)

// A log whose server takes no batches stores single events only, and says what to do. It never reports a part as stored.
func TestAServerWithoutBatchesIsNamed(t *testing.T) {
	srv := start(t, natsserver.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", Unsynced: true})
	l, p := throughProxy(t, srv.URL(), jetstream.Config{})
	js, err := natsjs.New(connect(t, srv))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	told := func(what string, err error) {
		t.Helper()
		if err == nil || errors.Is(err, eventlog.ErrUnavailable) || !strings.Contains(err.Error(), "run NATS 2.12 or a newer one") {
			t.Errorf("%s: %v", what, err)
		}
	}
	cfg := stream.CachedInfo().Config
	cfg.AllowAtomicPublish = false
	if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	_, err = l.Append(t.Context(), appendOf("a", 0, 3))
	told("a stream that takes none", err)
	told("a look at it", l.Verify(t.Context()))
	if head, err := l.Head(t.Context()); err != nil || head.Last != 0 {
		t.Errorf("the log ends at %d, %v, and nothing was appended", head.Last, err)
	}
	last, err := l.Append(t.Context(), appendOf("a", 0, 1))
	if err != nil || last != 1 {
		t.Errorf("a single event: %d, %v", last, err)
	}
	p.age()
	_, err = l.Append(t.Context(), appendOf("b", 0, 3))
	told("a server that knows none", err)
}
