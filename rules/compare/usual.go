package compare

import (
	"strings"

	"github.com/tachobench/tacho/events"
)

// Usual describes a metric that the definitions do not name. Metrics that every collector measures have a known
// description. Sizes are exact. Any other metric is a time, the most careful class. Counts that vary with the course of
// a run, such as cycles, are judged like times. The user-only form of a metric ("cycles:u") is described like the
// metric itself.
func Usual(name events.Metric) MetricInfo {
	m := MetricInfo{Name: name, Class: Time, Undeclared: true}
	bare, _ := strings.CutSuffix(string(name), ":u")
	switch bare {
	case "instructions", "page-faults", "faults":
		m.Class = Count
	case "max-rss":
		m.Class, m.Unit = Count, "bytes"
	case "wall-time", "task-clock", "cpu-time", "user-time", "sys-time":
		m.Unit = "s"
	}
	if strings.HasPrefix(bare, "size:") {
		m.Class, m.Unit = Exact, "bytes"
	}
	return m
}
