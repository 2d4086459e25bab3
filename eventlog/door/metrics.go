package door

import "github.com/prometheus/client_golang/prometheus"

// Metrics count the requests and connections that the door refuses.
type Metrics struct {
	refused *prometheus.CounterVec
	dropped *prometheus.CounterVec
	cut     *prometheus.CounterVec
}

// NewMetrics returns the metrics of a door. It registers them with r if r is not nil.
func NewMetrics(r prometheus.Registerer) *Metrics {
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "tacho", Subsystem: "door", Name: name, Help: help}, labels)
	}
	m := &Metrics{
		refused: vec("refused_total", "Requests of collectors that were refused, by collector and kind.", "collector", "kind"),
		dropped: vec("dropped_total", "Requests of collectors that were not even answered, because they were far too many.", "collector"),
		cut:     vec("cut_total", "How often a collector was cut off for a while.", "collector"),
	}
	if r != nil {
		r.MustRegister(m.refused, m.dropped, m.cut)
	}
	return m
}
