package projector

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tachobench/tacho/events"
)

// Metrics are what the projector measures about itself.
type Metrics struct {
	Events      prometheus.Counter
	Batch       prometheus.Histogram
	Transaction prometheus.Histogram
	Lag         prometheus.Gauge
	Seq         prometheus.Gauge
	Retries     prometheus.Counter
}

// NewMetrics makes the metrics and registers them. With a nil registerer they are not registered.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		Events: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tacho_projector_events_total", Help: "Events of the log that were folded into the tables.",
		}),
		Batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "tacho_projector_batch_events", Help: "Events per transaction.",
			Buckets: []float64{1, 3, 10, 30, 100, 300, 1000},
		}),
		Transaction: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "tacho_projector_transaction_seconds", Help: "Time to fold and commit one batch.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
		}),
		Lag: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tacho_projector_lag_seconds",
			Help: "Time from the storing of the newest folded event in the log to its commit in the tables.",
		}),
		Seq: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tacho_projector_sequence", Help: "Sequence of the newest event in the tables.",
		}),
		Retries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tacho_projector_retries_total", Help: "Times that Postgres or the log was lost and tried again.",
		}),
	}
	if r != nil {
		r.MustRegister(m.Events, m.Batch, m.Transaction, m.Lag, m.Seq, m.Retries)
	}
	return m
}

func (m *Metrics) applied(n int, head events.Stored, took time.Duration) {
	m.Events.Add(float64(n))
	m.Batch.Observe(float64(n))
	m.Transaction.Observe(took.Seconds())
	m.Lag.Set(max(time.Since(head.StoredAt).Seconds(), 0))
	m.Seq.Set(float64(head.Seq))
}
