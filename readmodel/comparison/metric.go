package comparison

import (
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/compare"
	"github.com/tachobench/tacho/rules/suite"
)

// MetricOf describes a metric as the definitions do, or else as is usual.
func MetricOf(d suite.Definitions, name events.Metric) compare.MetricInfo { return metricInfo(d, name) }
