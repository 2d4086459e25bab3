package collector

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/internal/retry"
)

const (
	logEvery = 200 * time.Millisecond
	// logBound is how many bytes of output wait for the log at most. The writer drops more than that and says so: the
	// output never slows a measured process.
	logBound = 256 << 10
)

// logWriter sends a job's output to the log in the background.
type logWriter struct {
	a  *attempt
	mu sync.Mutex
	// text and dropped are guarded by mu.
	text    strings.Builder
	dropped int
}

func newLogWriter(a *attempt) *logWriter { return &logWriter{a: a} }

func (w *logWriter) write(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.text.Len()+len(text) > logBound {
		w.dropped += len(text)
		return
	}
	w.text.WriteString(text)
	if !strings.HasSuffix(text, "\n") {
		w.text.WriteByte('\n')
	}
}

func (w *logWriter) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.text.String()
	if w.dropped > 0 {
		text += fmt.Sprintf("[%d bytes of output were dropped here]\n", w.dropped)
	}
	w.text.Reset()
	w.dropped = 0
	return text
}

// run sends until ctx ends, and then once more.
func (w *logWriter) run(ctx context.Context) {
	for retry.Sleep(ctx, logEvery) {
		w.send(ctx)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	w.send(last)
}

func (w *logWriter) send(ctx context.Context) {
	text := w.take()
	if text == "" {
		return
	}
	err := w.a.c.JobLogs.WriteLog(ctx, w.a.c.Lane, eventlog.LogChunk{
		JobID: w.a.spec.ID, Attempt: w.a.number, Time: w.a.c.Clock().UTC(), Text: text,
	})
	if err != nil {
		w.a.c.Logger.Debug("output of a job was not stored", "job", w.a.spec.ID, "bytes", len(text), "error", err)
	}
}
