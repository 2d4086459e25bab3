package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// sample is one answer of a website.
type sample struct {
	asked, answered time.Time
	// ok says that an append was taken, that the process is ready, or that the page came whole.
	ok bool
	// says is what was wrong: the checks that failed, the status of the page, or the error.
	says string
	// alerts are those that the process knows.
	alerts []events.AlertKind
}

// witness asks one website again and again for an append, for its readiness and for a page.
type witness struct {
	url    string
	number int
	client *client.Client

	mu                     sync.Mutex
	appends, readies, page []sample
	// taken are the versions whose append was acknowledged.
	taken []string
}

// watch makes witnesses that ask until the returned function is called.
func watch(t *testing.T, every time.Duration, urls ...string) (all []*witness, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for i, url := range urls {
		c, err := client.New(url, "t")
		if err != nil {
			t.Fatal(err)
		}
		w := &witness{url: url, number: i, client: c}
		all = append(all, w)
		for _, ask := range []func(context.Context){w.append, w.ready, w.show} {
			group.Go(func() {
				tick := time.NewTicker(every)
				defer tick.Stop()
				for ctx.Err() == nil {
					ask(ctx)
					select {
					case <-tick.C:
					case <-ctx.Done():
					}
				}
			})
		}
	}
	stop = sync.OnceFunc(func() { cancel(); group.Wait() })
	t.Cleanup(stop)
	return all, stop
}

func (w *witness) note(list *[]sample, s sample) {
	s.answered = time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	*list = append(*list, s)
}

// append asks for an event that changes nothing here: collectors without a supervisor run no other version.
func (w *witness) append(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	s := sample{asked: time.Now()}
	version := fmt.Sprintf("0.%d.%d", w.number, s.asked.UnixNano())
	_, err := w.client.WantVersion(ctx, events.VersionWanted{Version: version, Reason: "chaos"})
	if s.ok = err == nil; s.ok {
		w.mu.Lock()
		w.taken = append(w.taken, version)
		w.mu.Unlock()
	} else {
		s.says = err.Error()
	}
	w.note(&w.appends, s)
}

// get returns the status and the body of a page; a status of 0 and an error if there is no answer within 10 s.
func (w *witness) get(ctx context.Context, path string) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, nil)
	if err != nil {
		return 0, nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

func (w *witness) ready(ctx context.Context) {
	s := sample{asked: time.Now()}
	_, body, err := w.get(ctx, "/readyz")
	var answer struct {
		Ready  bool
		Checks []struct {
			Name, Detail string
			OK           bool
		}
		Alerts []readmodel.Alert
	}
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	if ctx.Err() != nil {
		return
	}
	s.ok = err == nil && answer.Ready
	if err != nil {
		s.says = "no answer"
	}
	for _, c := range answer.Checks {
		if !c.OK {
			s.says += c.Name + ": " + c.Detail + "\n"
		}
	}
	for _, a := range answer.Alerts {
		s.alerts = append(s.alerts, a.Kind)
	}
	w.note(&w.readies, s)
}

func (w *witness) show(ctx context.Context) {
	s := sample{asked: time.Now()}
	status, _, err := w.get(ctx, "/")
	if ctx.Err() != nil {
		return
	}
	s.ok, s.says = status == http.StatusOK, fmt.Sprint(status)
	if err != nil {
		s.says = "no answer"
	}
	w.note(&w.page, s)
}

// asked returns the samples of one kind that were asked for in a time, of each witness.
func samples(all []*witness, of func(*witness) []sample, from, to time.Time) (out []sample) {
	for _, w := range all {
		w.mu.Lock()
		for _, s := range of(w) {
			if !s.answered.Before(from) && !s.asked.After(to) {
				out = append(out, s)
			}
		}
		w.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b sample) int { return a.answered.Compare(b.answered) })
	return out
}

func appendsOf(w *witness) []sample { return w.appends }
func readiesOf(w *witness) []sample { return w.readies }
func pagesOf(w *witness) []sample   { return w.page }

// gap returns the longest time without a good answer, from a moment on.
func gap(list []sample, from, to time.Time) (longest time.Duration) {
	last := from
	for _, s := range list {
		if s.ok {
			longest = max(longest, s.answered.Sub(last))
			last = s.answered
		}
	}
	return max(longest, to.Sub(last))
}

// first returns how long after a moment the first sample came that satisfies f; a negative time if there is none.
func first(list []sample, from time.Time, f func(sample) bool) time.Duration {
	for _, s := range list {
		if s.answered.After(from) && f(s) {
			return s.answered.Sub(from)
		}
	}
	return -1
}

// figures are what was seen of one fault. Times are in seconds; a negative one says that it did not happen.
type figures struct {
	Fault string `json:"fault"`
	// Lasting is how long the fault lasted.
	Lasting float64 `json:"lasting"`
	// NoAppend is the longest time in which no website took an append, and NoAppendOne in which one of them took none.
	NoAppend    float64 `json:"no_append"`
	NoAppendOne float64 `json:"no_append_one"`
	// AppendBack is how long after the end of the fault an append was taken by each website.
	AppendBack float64 `json:"append_back"`
	// NotReady is how long after the fault /readyz said so, and Says what it said.
	NotReady float64  `json:"not_ready"`
	Says     []string `json:"says"`
	// Wrong is how long a website said that it is ready when it had taken no append for more than five seconds.
	Wrong float64 `json:"wrong"`
	// Alerts say after how many seconds an alert was raised.
	Alerts map[events.AlertKind]float64 `json:"alerts"`
	// Page is the longest time that the start page took, and Pages are the answers.
	Page  float64        `json:"page"`
	Pages map[string]int `json:"pages"`
	// Clear is how long after the end of the fault all was well: ready, no alert, all nodes current.
	Clear float64 `json:"clear"`

	fault             fault
	began, ended, out time.Time
	head, last        events.Seq
}

// look fills in what the witnesses saw of a fault.
func (f *figures) look(all []*witness) {
	f.Lasting, f.Clear = f.ended.Sub(f.began).Seconds(), f.out.Sub(f.ended).Seconds()
	f.NoAppend = gap(samples(all, appendsOf, f.began, f.out), f.began, f.out).Seconds()
	good := func(s sample) bool { return s.ok }
	for i := range all {
		one := samples(all[i:i+1], appendsOf, f.began, f.out)
		f.NoAppendOne = max(f.NoAppendOne, gap(one, f.began, f.out).Seconds())
		f.AppendBack = max(f.AppendBack, first(one, f.ended, good).Seconds())
		f.Wrong = max(f.Wrong, wrong(one, samples(all[i:i+1], readiesOf, f.began, f.out), f.began).Seconds())
	}
	readies := samples(all, readiesOf, f.began, f.out)
	f.NotReady = first(readies, f.began, func(s sample) bool { return !s.ok }).Seconds()
	f.Alerts, f.Pages = map[events.AlertKind]float64{}, map[string]int{}
	for _, s := range readies {
		if !s.ok && !slices.Contains(f.Says, s.says) {
			f.Says = append(f.Says, s.says)
		}
		for _, kind := range s.alerts {
			if _, ok := f.Alerts[kind]; !ok {
				f.Alerts[kind] = s.answered.Sub(f.began).Seconds()
			}
		}
	}
	for _, s := range samples(all, pagesOf, f.began, f.out) {
		f.Page = max(f.Page, s.answered.Sub(s.asked).Seconds())
		f.Pages[s.says]++
	}
}

// wrong returns how long readiness was said while no append had been taken for more than five seconds.
func wrong(appends, readies []sample, from time.Time) (d time.Duration) {
	const grace = 5 * time.Second
	taken, last := from, time.Time{}
	for _, r := range readies {
		for len(appends) > 0 && !appends[0].answered.After(r.answered) {
			if appends[0].ok {
				taken = appends[0].answered
			}
			appends = appends[1:]
		}
		if late := taken.Add(grace); r.ok && r.answered.After(late) {
			if last.Before(late) {
				last = late
			}
			d += r.answered.Sub(last)
		}
		last = r.answered
	}
	return d
}

// checks names the checks of /readyz that failed, without their details.
func (f *figures) checks() string {
	var names []string
	for _, text := range f.Says {
		for line := range strings.Lines(text) {
			if name, _, _ := strings.Cut(strings.TrimSpace(line), ":"); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
