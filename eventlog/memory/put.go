package memory

import (
	"time"

	"github.com/tachobench/tacho/events"
)

// Put stores a message as it is, as a writer does that follows none of our rules, or as earlier versions did. The
// sequence and the time are the log's. It returns the sequence.
func (l *Log) Put(s events.Stored) events.Seq {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Seq, s.StoredAt = events.Seq(len(l.all)+1), time.Now().UTC()
	l.places[s.Subject] = append(l.places[s.Subject], len(l.all))
	l.all = append(l.all, s)
	l.announce()
	return s.Seq
}
