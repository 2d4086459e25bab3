package suite

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
)

func TestSharedKindsThatMeasureTimesAreWarnedOf(t *testing.T) {
	count, wall := MetricInfo{Name: "instructions:u", Class: "count"}, MetricInfo{Name: "wall-time", Class: "time"}
	shared := Kind{Name: "build", Lanes: LanesAny, Shared: true}
	for name, tc := range map[string]struct {
		kind    Kind
		metrics []MetricInfo
		of      events.JobKind // what the benchmark is of
		want    string         // the metric; empty for no warning
	}{
		"a time":            {shared, []MetricInfo{count, wall}, "build", "wall-time"},
		"nothing is listed": {shared, nil, "build", "wall-time"},
		"counts only":       {shared, []MetricInfo{count}, "build", ""},
		"alone":             {Kind{Name: "build", Lanes: LanesAny}, []MetricInfo{wall}, "build", ""},
		"its own lanes":     {Kind{Name: "build"}, []MetricInfo{wall}, "build", ""},
		"no benchmark":      {shared, []MetricInfo{wall}, "test", ""},
	} {
		d := Definitions{Kinds: []Kind{tc.kind}, Metrics: tc.metrics, Benchmarks: []BenchmarkDef{{Name: "b", Kind: tc.of}}}
		got := strings.Join(d.Warnings(), "\n")
		if tc.want == "" && got != "" || tc.want != "" && !strings.Contains(got, `kind "build" has shared = true and measures the time `+tc.want+":") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
