package jetstream

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
)

// DriftError says that the stream of the log is not configured as it must be: an operator changed it, or another
// program made it. The promises of the log no longer hold.
type DriftError struct {
	Stream, Field string
	Want, Got     string
}

func (e *DriftError) Error() string {
	if e.Field == fieldMaxBytes {
		return fmt.Sprintf("stream %s: its limit is %s bytes and nats.max_bytes is %s: have the stream's operator raise it with `nats stream edit %s --max-bytes %s`, "+
			"or lower nats.max_bytes to it", e.Stream, e.Got, e.Want, e.Stream, e.Want)
	}
	if e.Field == fieldAtomic {
		return fmt.Sprintf("stream %s: %s is %s and must be %s: %s", e.Stream, e.Field, e.Got, e.Want, errNoBatches)
	}
	return fmt.Sprintf("stream %s: %s is %s and must be %s: have the stream's operator set it back", e.Stream, e.Field, e.Got, e.Want)
}

// Verify checks the stream. Every field of its configuration must be as wanted, else the error is a *DriftError. No
// event between the first and the last may be missing, and it must be the same log as before and not shorter, else the
// error is a *eventlog.GapError. Call it regularly; it costs one request.
func (l *Log) Verify(ctx context.Context) error {
	info, err := l.info(ctx)
	if err != nil {
		return err
	}
	if err := compareLog(l.cfg.eventsStream(), info.Config); err != nil {
		return err
	}
	head := l.headOf(info)
	s := info.State
	if s.Msgs > 0 && (s.Msgs != s.LastSeq-s.FirstSeq+1 || s.NumDeleted > 0) {
		return fmt.Errorf("stream %s holds %d messages from %d to %d: %w", l.cfg.Name, s.Msgs, s.FirstSeq, s.LastSeq,
			&eventlog.GapError{Want: head.First, Got: head.Last})
	}
	l.mu.Lock()
	before := l.seen
	l.mu.Unlock()
	if before.Identity != "" {
		same, err := l.still(ctx, before)
		if err != nil {
			return err
		}
		if !same {
			return fmt.Errorf("stream %s: %w", l.cfg.Name, &eventlog.GapError{Want: before.Last})
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if head.Last >= l.seen.Last {
		l.seen = head
	}
	return nil
}

// fieldMaxBytes is the limit of a stream in the configuration of JetStream, and fieldAtomic says that it takes batches. A server
// that knows no batches leaves that field out of its answers.
const (
	fieldMaxBytes = "max_bytes"
	fieldAtomic   = "allow_atomic"
)

// compareLog is compareConfig for the log. A limit that is higher than the wanted one is no drift: nothing that was
// promised depends on it, and an operator of a cluster raises it while the parts run.
func compareLog(want, got natsjs.StreamConfig) error {
	if got.MaxBytes < 0 || got.MaxBytes > want.MaxBytes {
		got.MaxBytes = want.MaxBytes
	}
	return compareConfig(want, got)
}

// compareConfig names the first field in which the effective configuration differs from the wanted one. It ignores the
// metadata and the placement: the server fills them in, and they say nothing about the log.
func compareConfig(want, got natsjs.StreamConfig) error {
	got.Metadata, want.Metadata = nil, nil
	got.Placement, want.Placement = nil, nil
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	for i := range w.NumField() {
		if reflect.DeepEqual(w.Field(i).Interface(), g.Field(i).Interface()) {
			continue
		}
		name, _, _ := strings.Cut(w.Type().Field(i).Tag.Get("json"), ",")
		return &DriftError{
			Stream: want.Name, Field: name,
			Want: fmt.Sprint(w.Field(i).Interface()), Got: fmt.Sprint(g.Field(i).Interface()),
		}
	}
	return nil
}
