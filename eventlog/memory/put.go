package memory

import (
	"github.com/tachobench/tacho/events"
)

// Put stores a message as it is, like a writer that breaks the rules, or like earlier versions. The log sets the
// sequence and the time. It returns the sequence.
func (l *Log) Put(s events.Stored) events.Seq {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Seq, s.StoredAt = events.Seq(len(l.all)+1), l.cfg.Clock().UTC()
	l.places[s.Subject] = append(l.places[s.Subject], len(l.all))
	l.all, l.decoded = append(l.all, s), append(l.decoded, nil)
	l.announce()
	return s.Seq
}
