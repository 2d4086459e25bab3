package website

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are what the website measures about itself.
type metrics struct {
	answers *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	streams prometheus.Gauge
	refused *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tacho_http_answers_total", Help: "Answers of the website, by route and status.",
		}, []string{"route", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tacho_http_seconds", Help: "Time to the first byte of an answer, by route.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}, []string{"route"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tacho_http_streams", Help: "Streams of events, pings and logs that are open.",
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tacho_http_refused_total",
			Help: "Readers that were told to come back later, by what they asked for (answer, stream, login) and the bound that was reached (address, all, turn, memory).",
		}, []string{"kind", "bound"}),
	}
	r.MustRegister(m.answers, m.seconds, m.streams, m.refused)
	return m
}

// watch registers metrics of how many reads wait for their turns.
func (m *metrics) watch(r prometheus.Registerer, b *bounds) {
	for line, t := range map[string]*turns{"pages": b.quick, "long": b.long, "streams": b.parts} {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tacho_http_waiting", Help: "Reads that wait for their turn: of pages, of what takes long, and of streams that catch up.",
			ConstLabels: prometheus.Labels{"line": line},
		}, func() float64 { return float64(t.length()) }))
	}
}

// first notes when an answer began and with which status.
type first struct {
	http.ResponseWriter
	status int
	began  func()
}

// Unwrap lets http.ResponseController reach the connection.
func (f *first) Unwrap() http.ResponseWriter { return f.ResponseWriter }

func (f *first) WriteHeader(status int) {
	if f.status == 0 {
		f.status = status
		f.began()
	}
	f.ResponseWriter.WriteHeader(status)
}

func (f *first) Write(b []byte) (int, error) {
	if f.status == 0 {
		f.WriteHeader(http.StatusOK)
	}
	return f.ResponseWriter.Write(b)
}

// measured counts the answers of a route and times their first byte: streams last as long as their readers want.
func (s *Server) measured(route string, next http.Handler) http.Handler {
	seconds := s.metrics.seconds.WithLabelValues(route)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		f := &first{ResponseWriter: w, began: func() { seconds.Observe(time.Since(start).Seconds()) }}
		next.ServeHTTP(f, r)
		method := r.Method
		if method != http.MethodGet && method != http.MethodPost && method != http.MethodHead {
			method = "other" // callers may send any method, but the series must stay few
		}
		s.metrics.answers.WithLabelValues(route, method, strconv.Itoa(max(f.status, http.StatusOK))).Inc()
	})
}
