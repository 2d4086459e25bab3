package tlsfiles

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// lookEvery is how often the files are checked at most, however many connections come.
const lookEvery = time.Second

// watched is the content of some files. It is read again when they change. While they cannot be read, the old content
// stays in use: the two files of a pair are never replaced at the same moment.
type watched[T any] struct {
	files []string
	read  func() (T, error)
	log   *slog.Logger

	mu sync.Mutex
	// value was read when the files had the stamp good.
	value T
	good  string
	// told is the stamp of the last change that a warning was logged for.
	told   string
	looked time.Time
	// changed is called with each new value before a caller of get receives it.
	changed func(T)
}

// watch reads the files for the first time. It returns the error of this first reading.
func watch[T any](log *slog.Logger, read func() (T, error), files ...string) (*watched[T], error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	w := &watched[T]{files: files, read: read, log: log, looked: time.Now(), good: stamp(files)}
	var err error
	w.value, err = read()
	return w, err
}

// get returns the content of the files, or, while they cannot be used, the last usable content.
func (w *watched[T]) get() T {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if now.Sub(w.looked) < lookEvery {
		return w.value
	}
	w.looked = now
	// The stamp is taken before reading: the next look then sees a change in between.
	s := stamp(w.files)
	if s == w.good {
		return w.value
	}
	value, err := w.read()
	switch {
	case err == nil:
		w.value, w.good, w.told = value, s, ""
		if w.changed != nil {
			w.changed(value)
		}
		w.log.Info("the files of TLS have changed: the new ones are in use", "files", strings.Join(w.files, ", "))
	case w.told != s:
		w.told = s
		w.log.Warn("the files of TLS have changed and cannot be used: the old certificates stay in use", "error", err)
	}
	return w.value
}

// follow calls f with the value now, and with each new one.
func (w *watched[T]) follow(f func(T)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changed = f
	f(w.value)
}

// stamp returns a text that changes when a file changes.
func stamp(files []string) string {
	var b strings.Builder
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			fmt.Fprintf(&b, "%v;", err)
			continue
		}
		fmt.Fprintf(&b, "%d %d;", info.ModTime().UnixNano(), info.Size())
	}
	return b.String()
}
