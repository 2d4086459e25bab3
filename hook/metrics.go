package hook

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tachobench/tacho/events"
)

// Metrics are the metrics of all hooks of a process.
type Metrics struct {
	posts    *prometheus.CounterVec
	sequence *prometheus.GaugeVec
	failing  *prometheus.GaugeVec
}

// NewMetrics makes the metrics and registers them. With a nil registerer they are not registered.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		posts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tacho_hook_posts_total", Help: "Posts of events to the receivers of hooks, by result; failed ones are tried again.",
		}, []string{"hook", "result"}),
		sequence: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "tacho_hook_sequence", Help: "The last event that the receiver of a hook took since the start; 0 before the first.",
		}, []string{"hook"}),
		failing: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "tacho_hook_failing_since_timestamp_seconds", Help: "When the posts of a hook began to fail; 0 while they succeed.",
		}, []string{"hook"}),
	}
	if r != nil {
		r.MustRegister(m.posts, m.sequence, m.failing)
	}
	return m
}

// results are the values of the label result.
const (
	delivered = "delivered"
	failed    = "failed"
)

// begin makes the series of a hook.
func (m *Metrics) begin(hook string) {
	m.posts.WithLabelValues(hook, delivered)
	m.posts.WithLabelValues(hook, failed)
	m.sequence.WithLabelValues(hook)
	m.failing.WithLabelValues(hook)
}

// note counts a post. since is when the posts began to fail; the zero time while they succeed.
func (m *Metrics) note(hook string, seq events.Seq, since time.Time, outcome error) {
	if outcome != nil {
		m.posts.WithLabelValues(hook, failed).Inc()
		m.failing.WithLabelValues(hook).Set(float64(since.UnixMilli()) / 1000)
		return
	}
	m.posts.WithLabelValues(hook, delivered).Inc()
	m.sequence.WithLabelValues(hook).Set(float64(seq))
	m.failing.WithLabelValues(hook).Set(0)
}
