package watchdog

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tachobench/tacho/readmodel"
)

// Metrics are the metrics of the watchdog.
type Metrics struct {
	standing *standingMetric
	raised   prometheus.Counter
	failures *prometheus.CounterVec
	posts    *prometheus.CounterVec
}

// NewMetrics makes the metrics and registers them. With a nil registerer they are not registered.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		standing: &standingMetric{desc: prometheus.NewDesc("tacho_alert", "1 for each alert that stands: something needs a person.", []string{"kind", "about"}, nil)},
		raised: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tacho_alerts_raised_total", Help: "Alerts that began to stand since this watchdog was started, whoever raised them.",
		}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tacho_watchdog_probe_failures_total", Help: "Times that the log or the tables did not answer the watchdog.",
		}, []string{"probe"}),
		posts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tacho_alert_webhook_posts_total", Help: "Posts to the webhook of alerts, by result; failed ones are tried again.",
		}, []string{"result"}),
	}
	if r != nil {
		r.MustRegister(m.standing, m.raised, m.failures, m.posts)
	}
	return m
}

// standingMetric is made from the alerts that stand when it is collected: a cleared alert leaves no series.
type standingMetric struct {
	desc *prometheus.Desc
	// mu guards list.
	mu   sync.Mutex
	list func() []readmodel.Alert
}

func (s *standingMetric) of(list func() []readmodel.Alert) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = list
}

// Describe implements prometheus.Collector.
func (s *standingMetric) Describe(ch chan<- *prometheus.Desc) { ch <- s.desc }

// Collect implements prometheus.Collector.
func (s *standingMetric) Collect(ch chan<- prometheus.Metric) {
	s.mu.Lock()
	list := s.list
	s.mu.Unlock()
	if list == nil {
		return
	}
	type series struct{ kind, about string }
	told := map[series]bool{} // two keys may have the same kind and be about the same thing
	for _, a := range list() {
		if n := (series{string(a.Kind), a.About}); !told[n] {
			told[n] = true
			ch <- prometheus.MustNewConstMetric(s.desc, prometheus.GaugeValue, 1, n.kind, n.about)
		}
	}
}
