package website

import (
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

const (
	// stretchEvents and stretchBytes bound what a stream reads at once, and so its memory. The bytes are the data of the
	// events without their envelopes. One event may be larger.
	stretchEvents = 500
	stretchBytes  = 64 << 10
	// stretchSpan bounds how many events a stream searches at once for those that it wants.
	stretchSpan = 20_000
	// recentFor bounds how long pages of the log are kept; recentBytes, how much of them.
	recentFor   = 5 * time.Second
	recentBytes = 16 << 20
)

// stretch is a page of the log as streams send it.
type stretch struct {
	text []byte
	// next is the sequence to continue after. ended says that there was no more when the tables were at heard.
	next, heard events.Seq
	ended       bool
	read        time.Time
}

// newStretch writes events as messages of a stream.
func newStretch(list []readmodel.Event) (*stretch, error) {
	p := &stretch{read: time.Now()}
	for _, e := range list {
		data, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		p.text = append(p.text, "event: event\nid: "...)
		p.text = strconv.AppendUint(p.text, uint64(e.Seq), 10)
		p.text = append(append(append(p.text, "\ndata: "...), data...), "\n\n"...)
		p.next = e.Seq
	}
	return p, nil
}

// recent keeps the pages that streams sent a moment ago. Many streams want the same page at about the same time: those
// that wait for new events, and those that begin at the beginning. Stored events do not change. A page at the end of
// the log is valid until there are more events.
type recent struct {
	// mu guards the rest.
	mu   sync.Mutex
	kept map[readmodel.EventFilter]*stretch
	// order has the keys, the oldest first.
	order []readmodel.EventFilter
	bytes int
}

func newRecent() *recent { return &recent{kept: map[readmodel.EventFilter]*stretch{}} }

// find returns the kept page of a filter; nil if there is none, it is too old, or it ended before the tables were at
// heard.
func (k *recent) find(f readmodel.EventFilter, heard events.Seq) *stretch {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.kept[f]
	if p == nil || p.ended && p.heard < heard || time.Since(p.read) > recentFor {
		return nil
	}
	return p
}

// keep adds a page, and forgets the oldest ones while there is too much or they are too old.
func (k *recent) keep(f readmodel.EventFilter, p *stretch) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if old := k.kept[f]; old != nil {
		k.bytes -= len(old.text)
	} else {
		k.order = append(k.order, f)
	}
	k.kept[f] = p
	k.bytes += len(p.text)
	for len(k.order) > 0 {
		oldest := k.kept[k.order[0]]
		if k.bytes <= recentBytes && time.Since(oldest.read) <= recentFor {
			return
		}
		k.bytes -= len(oldest.text)
		delete(k.kept, k.order[0])
		k.order = k.order[1:]
	}
}
