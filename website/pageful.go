package website

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// usualLimit is how many elements a page of a list has if the caller names no limit.
const usualLimit = 100

// pageful is one page of a list. The list alone is the answer; the header Link names the next page, so that the answers are the
// same for programs that know no pages.
type pageful struct {
	list any
	// name and value are the parameter of the next page; the name is empty on the last one.
	name, value string
}

// paged makes a page of a list that was read with a limit, where 0 is the usual one. A full page may have a next one, which
// begins behind the place of the last element.
func paged[T any](list []T, limit int, name string, place func(T) string) pageful {
	if len(list) < cmp.Or(limit, usualLimit) {
		return pageful{list: list}
	}
	return pageful{list, name, place(list[len(list)-1])}
}

// announce names the next page in the header.
func (f pageful) announce(h http.Header, r *http.Request) {
	if f.name == "" {
		return
	}
	next := r.URL.Query()
	next.Set(f.name, f.value)
	h.Set("Link", fmt.Sprintf(`<%s?%s>; rel="next"`, r.URL.EscapedPath(), next.Encode()))
}

func sequence(seq events.Seq) string { return strconv.FormatUint(uint64(seq), 10) }

// jobPlace is the place of a job in lists, as the parameter after takes it.
func jobPlace(j readmodel.Job) string {
	return fmt.Sprintf("%d.%d", j.CreatedSeq, j.Ordinal)
}

// jobPlace reads the place of a job in lists; the zero place if it is not given or wrong.
func (p *params) jobPlace(name string) readmodel.JobPlace {
	text := p.values.Get(name)
	if text == "" {
		return readmodel.JobPlace{}
	}
	seq, ordinal, _ := strings.Cut(text, ".")
	at, err := strconv.ParseUint(seq, 10, 63)
	n, err2 := strconv.ParseUint(ordinal, 10, 31)
	if err != nil || err2 != nil {
		p.fail("parameter %s is %q and must be what the header Link of the page before says", name, text)
	}
	return readmodel.JobPlace{Seq: events.Seq(at), Ordinal: int(n)}
}
