package reporter

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the reporter's metrics.
type Metrics struct {
	// Written counts comments by what was done: created, edited, found, minimised.
	Written *prometheus.CounterVec
	// Failed counts attempts that GitHub did not accept, by the kind of failure.
	Failed *prometheus.CounterVec
	// Waiting is how many comments are wanted and not posted yet.
	Waiting prometheus.Gauge
}

// NewMetrics returns metrics that are registered with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		Written: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tacho_comments_written_total", Help: "Comments on GitHub by what was done: created, edited, found, minimised.",
		}, []string{"what"}),
		Failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tacho_comments_failed_total", Help: "Attempts to write that GitHub did not take, by kind of failure.",
		}, []string{"kind"}),
		Waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tacho_comments_waiting", Help: "Comments that are wanted and do not stand on GitHub yet.",
		}),
	}
	r.MustRegister(m.Written, m.Failed, m.Waiting)
	return m
}
