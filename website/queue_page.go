package website

import (
	"cmp"
	"net/http"

	"github.com/tachobench/tacho/readmodel"
)

// queueTable is a part of the queue as pages show it.
type queueTable struct {
	List []readmodel.QueueEntry
	// Total is how many places the queue has. Last is the last one that is shown, and More is how many follow it.
	Total, Last, More int
}

func newQueueTable(list []readmodel.QueueEntry, total int) queueTable {
	t := queueTable{List: list, Total: total}
	if len(list) > 0 {
		t.Last = list[len(list)-1].Position
		t.More = max(total-t.Last, 0)
	}
	return t
}

// queuePage shows what the status page has no room for.
func (s *Server) queuePage(r *http.Request) (view, error) {
	p := query(r, []parameter{{name: "after"}, {name: "limit"}})
	after, most := p.small("after"), cmp.Or(p.limit(), readmodel.QueueShown)
	if p.err != nil {
		return view{}, p.err
	}
	found, err := s.Reader.QueueAfter(r.Context(), after, most)
	return view{template: "queue", title: "Queue", data: newQueueTable(found.Seen(s.Clock()), found.Total)}, err
}
