package website

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/waits"
)

const (
	// usualWindow is the window of waits unless another one is asked for, longestWindow the longest one.
	usualWindow   = 7 * day
	longestWindow = 90 * day

	day = 24 * time.Hour
)

// window reads how far back the caller looks, such as 24h or 7d.
func (p *params) window() time.Duration {
	text := p.text("window")
	if text == "" {
		return usualWindow
	}
	window, err := time.ParseDuration(text)
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		window = time.Duration(n) * day
	}
	if err != nil || window < time.Minute || window > longestWindow {
		p.fail("parameter window is %q and must be from 1m to 90d, such as 24h or 7d", text)
	}
	return window
}

func (s *Server) waited(_ http.ResponseWriter, r *http.Request, p *params) (any, error) {
	window, lane := p.window(), p.text("lane")
	if p.err != nil {
		return nil, p.err
	}
	return s.readWaits(r.Context(), window, lane)
}

func (s *Server) readWaits(ctx context.Context, window time.Duration, lane string) (readmodel.Waits, error) {
	targets := make(map[string]time.Duration, len(s.SLA.Lanes))
	for of, target := range s.SLA.Lanes {
		targets[of] = target.Std()
	}
	return s.long.Waits(ctx, readmodel.WaitsFilter{Window: window, Now: s.Clock(), Target: s.SLA.Target.Std(), Targets: targets, Lane: lane})
}

// waitsView is how long jobs waited as the page shows it.
type waitsView struct {
	readmodel.Waits
	// Lane is the only one that is shown; empty if all are. Further counts those that are left out.
	Lane    string
	Further int
}

// lanesShown is how many lanes the page shows; the API has all.
const lanesShown = 200

func (s *Server) waitsPage(r *http.Request) (view, error) {
	p := query(r, []parameter{{name: "window"}, {name: "lane"}})
	window, lane := p.window(), p.text("lane")
	if p.err != nil {
		return view{}, p.err
	}
	found, err := s.readWaits(r.Context(), window, lane)
	v := waitsView{Waits: found, Lane: lane}
	if v.Further = max(len(v.Lanes)-lanesShown, 0); v.Further > 0 {
		v.Lanes = v.Lanes[:lanesShown]
	}
	return view{template: "waits", title: "Waits", data: v}, err
}

// Shortened reports whether jobs of the window have left the tables.
func (v waitsView) Shortened() bool { return v.RunsFrom.After(v.From) }

// waitMetrics shows the waits of the usual window to Prometheus. It reads them at most once a minute: they are many rows.
type waitMetrics struct {
	read  func(ctx context.Context, window time.Duration, lane string) (readmodel.Waits, error)
	clock func() time.Time

	runs, seconds, longest, requests *prometheus.Desc

	// mu guards the rest.
	mu sync.Mutex
	// at is when last was read; the zero time if the tables did not answer.
	at   time.Time
	last readmodel.Waits
	// reading is closed when the waits have been read that are read now; nil if none are.
	reading chan struct{}
}

const (
	// waitsAge is how old the shown waits may be.
	waitsAge = time.Minute
	// waitsTimeout bounds how long the tables may take, waitsPatience how long a scrape waits for them: it has other metrics, and
	// tells those also without the tables. What comes later is in the next scrape.
	waitsTimeout  = 5 * time.Second
	waitsPatience = 500 * time.Millisecond
)

func newWaitMetrics(s *Server) *waitMetrics {
	// A changed definition is a new series.
	version := prometheus.Labels{"metric_version": strconv.Itoa(waits.Version)}
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help+" Over the last 7 days, read at most once a minute.", labels, version)
	}
	return &waitMetrics{
		read: s.readWaits, clock: s.Clock,
		runs:     describe("tacho_wait_runs", "Jobs whose time to begin lies in the window, by whether they began in time.", "lane", "verdict"),
		seconds:  describe("tacho_wait_seconds", "How long these jobs waited for a machine.", "lane", "quantile"),
		longest:  describe("tacho_wait_longest_seconds", "How long the job that waits longest has waited.", "lane"),
		requests: describe("tacho_request_seconds", "How long requests took, whole and by stage.", "kind", "stage", "quantile"),
	}
}

// Describe implements prometheus.Collector.
func (m *waitMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.runs, m.seconds, m.longest, m.requests} {
		to <- d
	}
}

// newest returns the waits of at most a minute ago, or those of two minutes ago while newer ones are read.
func (m *waitMetrics) newest() (waited readmodel.Waits, known bool) {
	age := func() time.Duration {
		if m.at.IsZero() {
			return 2 * waitsAge
		}
		return m.clock().Sub(m.at)
	}
	m.mu.Lock()
	if age() >= waitsAge {
		if m.reading == nil {
			m.reading = make(chan struct{})
			go m.refresh(m.reading)
		}
		reading := m.reading
		m.mu.Unlock()
		select {
		case <-reading:
		case <-time.After(waitsPatience):
		}
		m.mu.Lock()
	}
	defer m.mu.Unlock()
	return m.last, age() < 2*waitsAge
}

// refresh reads the waits, and closes done.
func (m *waitMetrics) refresh(done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), waitsTimeout)
	defer cancel()
	now := m.clock()
	read, err := m.read(ctx, usualWindow, "")
	if err != nil {
		read, now = readmodel.Waits{}, time.Time{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at, m.last, m.reading = now, read, nil
	close(done)
}

// Collect implements prometheus.Collector.
func (m *waitMetrics) Collect(to chan<- prometheus.Metric) {
	waited, known := m.newest()
	if !known {
		return // the other metrics say that the tables are away
	}
	show := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	quantiles := func(d *prometheus.Desc, p50, p90 *int64, labels ...string) {
		for name, ms := range map[string]*int64{"0.5": p50, "0.9": p90} {
			if ms != nil {
				show(d, float64(*ms)/1000, append(labels[:len(labels):len(labels)], name)...)
			}
		}
	}
	for _, l := range waited.Lanes {
		show(m.runs, float64(l.Hits), l.Lane, "hit")
		show(m.runs, float64(l.Runs-l.Hits), l.Lane, "miss")
		show(m.longest, float64(l.LongestMS)/1000, l.Lane)
		quantiles(m.seconds, l.P50MS, l.P90MS, l.Lane)
	}
	for _, k := range waited.Kinds {
		for stage, q := range map[string]readmodel.Quantiles{
			"whole": k.Whole, "artifact": k.Artifact, "admission": k.Admission, "execution": k.Execution, "report": k.Report,
		} {
			quantiles(m.requests, q.P50MS, q.P90MS, string(k.Kind), stage)
		}
	}
}
