package website

import (
	"fmt"
	"html/template"
	"reflect"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/readmodel"
)

// words returns the functions of the templates: how values are shown to people. Ages are counted from clock.
func words(clock func() time.Time, asset func(string) string) template.FuncMap {
	return template.FuncMap{
		"asset":  asset,
		"moment": moment, "rfc": rfc, "full": phrase.Moment, "clock": timeOfDay,
		"ago":     func(t time.Time) string { return ago(t.Sub(clock())) },
		"due":     func(t time.Time) string { return due(t.Sub(clock())) },
		"startOf": func(q readmodel.QueueEntry) estimate { return startOf(q, clock()) },
		"endOf":   func(q readmodel.QueueEntry) estimate { return endOf(q, clock()) },
		"ms":      func(n int64) string { return phrase.Duration(time.Duration(n) * time.Millisecond) },
		"plus":    func(a, b int) int { return a + b },
		"short":   func(v any) string { return short(fmt.Sprint(v)) },
		"words":   func(v any) string { return said(fmt.Sprint(v)) },
		"list":    list, "plural": phrase.Count, "prose": prose, "title": alertTitle, "bytes": byteSize, "thousands": phrase.Thousands, "secure": secure, "opening": opening, "excerpt": excerpt, "link": newLink, "sameErrors": sameErrors,
	}
}

// moment returns the time in a time.Time or *time.Time; nil if there is none.
func moment(v any) *time.Time {
	switch t := v.(type) {
	case time.Time:
		if !t.IsZero() {
			return &t
		}
	case *time.Time:
		return t
	}
	return nil
}

func rfc(t time.Time) string       { return t.UTC().Format(time.RFC3339) }
func timeOfDay(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

// ago returns a distance in time from now in words, from one minute on in whole minutes: "3 min ago", "in 2 h 5 min".
func ago(d time.Duration) string {
	switch d = whole(d); {
	case d == 0:
		return "now"
	case d < 0:
		return phrase.Duration(-d) + " ago"
	}
	return "in " + phrase.Duration(d)
}

// due returns in words when something is expected. If that time has passed, it says "any moment".
func due(d time.Duration) string {
	if d < time.Second {
		return "any moment"
	}
	return ago(d)
}

// estimate is when something is expected, and how sure that is.
type estimate struct {
	At *time.Time
	// Window says in words between which times it is expected; empty if that is unknown.
	Window string
	// From and To are these times; nil if they are unknown.
	From, To *time.Time
	Guessed  bool
	// NoEnd says why there is no such time; empty if there is one, or if that is unknown.
	NoEnd string
}

func startOf(q readmodel.QueueEntry, now time.Time) estimate {
	return estimate{At: q.EstimatedStart, Window: window(q.StartEarliest, q.StartLatest, now), From: q.StartEarliest, To: q.StartLatest}
}

func endOf(q readmodel.QueueEntry, now time.Time) estimate {
	return estimate{
		At: q.EstimatedEnd, Window: window(q.EndEarliest, q.EndLatest, now), From: q.EndEarliest, To: q.EndLatest, Guessed: q.Guessed,
		NoEnd: q.NoEnd,
	}
}

// window returns in words between which times something is expected: "10 min to 2 h 5 min". It returns nothing if both
// bounds read the same.
func window(earliest, latest *time.Time, now time.Time) string {
	if earliest == nil || latest == nil {
		return ""
	}
	low, high := whole(max(earliest.Sub(now), 0)), whole(latest.Sub(now))
	switch {
	case high < time.Second || low == high:
		return ""
	case low == 0:
		return "within " + phrase.Duration(high)
	}
	return phrase.Duration(low) + " to " + phrase.Duration(high)
}

// whole cuts a duration to what matters: whole minutes from one minute on, whole seconds below.
func whole(d time.Duration) time.Duration {
	if d.Abs() >= time.Minute {
		return d.Truncate(time.Minute)
	}
	return d.Truncate(time.Second)
}

// said returns a state as people read it.
func said(s string) string { return strings.ReplaceAll(s, "_", " ") }

// short cuts a text that looks like a hash. Names of releases stay whole.
func short(s string) string {
	const enough = 10
	if len(s) < 32 || strings.Trim(s, "0123456789abcdef") != "" {
		return s
	}
	return s[:enough]
}

// list joins the elements of a slice of any kind of name.
func list(names any) string {
	v := reflect.ValueOf(names)
	all := make([]string, v.Len())
	for i := range all {
		all[i] = fmt.Sprint(v.Index(i))
	}
	return strings.Join(all, ", ")
}

func byteSize(n int64) string {
	const gib = 1 << 30
	switch {
	case n < 1<<10:
		return phrase.Count(int(n), "byte")
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	case n < gib:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/gib)
}

// signed returns a relative change in percent, with its sign.
func signed(change *float64) string {
	if change == nil {
		return "–"
	}
	if *change == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%+.2f %%", *change*100)
}

// link names a request on a page: by its tag, or by its key while it has none.
type link struct {
	Tag       events.Tag
	Key, Link string
}

func newLink(id events.RequestID, tag events.Tag, key string) link {
	return link{Tag: tag, Key: key, Link: string(id)}
}

// place is an entry of the navigation.
type place struct{ Path, Name string }

// navigation returns the entries. The page of machines is one of them only if the farm has machines, that of shares only if it
// is shared, and that of templates only if some suite leaves something to choose.
func navigation(machines, shared, templates bool) []place {
	list := []place{{"/", "Status"}, {"/requests", "Requests"}}
	if templates {
		list = append(list, place{"/templates", "Templates"})
	}
	list = append(list, place{"/collectors", "Collectors"})
	if machines {
		list = append(list, place{"/machines", "Machines"})
	}
	if shared {
		list = append(list, place{"/shares", "Shares"})
	}
	return append(list, place{"/waits", "Waits"}, place{"/compare", "Compare"}, place{"/github", "GitHub"})
}
