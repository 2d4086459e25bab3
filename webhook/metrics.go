package webhook

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the webhook's metrics.
type Metrics struct {
	// Received counts deliveries by the HTTP status of their answer.
	Received *prometheus.CounterVec
	// Seconds is how long the answers took.
	Seconds prometheus.Histogram
	// Handled counts deliveries by their outcome.
	Handled *prometheus.CounterVec
	// Postponed counts how often a delivery could not be handled yet.
	Postponed prometheus.Counter
}

// NewMetrics returns metrics that are registered with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		Received: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tacho_webhook_deliveries_total", Help: "Deliveries of GitHub by the HTTP status of the answer.",
		}, []string{"status"}),
		Seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "tacho_webhook_answer_seconds", Help: "How long a delivery waited for its answer.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
		}),
		Handled: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tacho_deliveries_handled_total", Help: "Deliveries by what came of them.",
		}, []string{"outcome"}),
		Postponed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tacho_deliveries_postponed_total", Help: "Times that a delivery could not be handled yet, for a fault that may go away.",
		}),
	}
	r.MustRegister(m.Received, m.Seconds, m.Handled, m.Postponed)
	return m
}
