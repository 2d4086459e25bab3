package poller

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts the work of pollers, by the name of the source.
type Metrics struct {
	Polls, Failures, Requests *prometheus.CounterVec
	// Worked is when a poll last succeeded, in seconds since 1970.
	Worked *prometheus.GaugeVec
}

// NewMetrics returns the metrics, registered with r unless it is nil.
func NewMetrics(r prometheus.Registerer) *Metrics {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"source"})
	}
	m := &Metrics{
		Polls:    counter("tacho_poller_polls_total", "Polls of a source, whatever they came to."),
		Failures: counter("tacho_poller_failures_total", "Polls of a source that failed."),
		Requests: counter("tacho_poller_requests_total", "Requests that a poller of this process created."),
		Worked: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "tacho_poller_last_success_timestamp_seconds", Help: "When a source was last polled without an error.",
		}, []string{"source"}),
	}
	if r != nil {
		r.MustRegister(m.Polls, m.Failures, m.Requests, m.Worked)
	}
	return m
}

func (m *Metrics) polled(name string, o Outcome, err error, now time.Time) {
	m.Polls.WithLabelValues(name).Inc()
	m.Requests.WithLabelValues(name).Add(float64(o.Created))
	if err != nil {
		m.Failures.WithLabelValues(name).Inc()
		return
	}
	m.Failures.WithLabelValues(name).Add(0)
	m.Worked.WithLabelValues(name).Set(float64(now.Unix()))
}
