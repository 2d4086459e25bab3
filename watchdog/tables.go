package watchdog

import (
	"context"
	"sync"

	"github.com/tachobench/tacho/readmodel"
)

// LateTables asks the tables of a database that may not be there yet: whether it is there is what the watchdog asks.
type LateTables struct {
	// URL is that of the database.
	URL string

	// mu guards reader, which is opened by the first question that the database answers.
	mu     sync.Mutex
	reader *readmodel.Reader
}

// Cursor implements Tables.
func (l *LateTables) Cursor(ctx context.Context) (readmodel.Cursor, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reader == nil {
		reader, err := readmodel.Open(ctx, l.URL)
		if err != nil {
			return readmodel.Cursor{}, err
		}
		l.reader = reader
	}
	return l.reader.Cursor(ctx)
}

// Close ends what the questions opened.
func (l *LateTables) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reader != nil {
		l.reader.Close()
	}
}
