package runner_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
)

type sample = map[events.Metric]float64

func TestParsers(t *testing.T) {
	for _, test := range []struct {
		name, text string
		parse      runner.Parser
		want       []sample
		wantErr    string
	}{
		{
			"jsonlines with chatter", "hello\n{\"metric\":\"a\",\"value\":3}\n{\"metric\":\"b\",\"value\":2,\"unit\":\"KiB\"}\n{\"metric\":\"a\",\"value\":4}\n",
			runner.ParseJSONLines,
			[]sample{{"a": 3, "b": 2048}, {"a": 4}},
			"",
		},
		{"jsonlines without value", "\n{\"metric\":\"a\"}", runner.ParseJSONLines, nil, `line 2: metric "a" has no value`},
		{"jsonlines with rest", `{"metric":"a","value":1} x`, runner.ParseJSONLines, nil, "line 1: something follows the object"},
		{
			"jsonlines with a bad name", `{"metric":"a b","value":1}`, runner.ParseJSONLines, nil,
			`line 1: metric "a b": use up to 128 letters, digits and ":._+-", starting with a letter or digit`,
		},
		{
			"benchfmt, one benchmark", "goos: linux\nBenchmarkJSON-2 \t 100 \t 2000 ns/op\t 16 B/op\nBenchmarkJSON-2 100 3000 ns/op 16 B/op\nPASS\n",
			runner.ParseBenchfmt,
			[]sample{{"sec-per-op": 2e-6, "B-per-op": 16}, {"sec-per-op": 3e-6, "B-per-op": 16}},
			"",
		},
		{
			"benchfmt, several", "BenchmarkA/x=1-2 1 5 widgets\nBenchmarkB 1 7 widgets\n", runner.ParseBenchfmt,
			[]sample{{"A-x-1:widgets": 5, "B:widgets": 7}},
			"",
		},
		{"benchfmt, broken", "BenchmarkA x\n", runner.ParseBenchfmt, nil, "output:1: parsing iteration count: invalid syntax"},
		{
			"benchlib", `{"Result":{"name":"fnv","stats":[{"cycles":10,"instructions":20,"branch_misses":null,"cache_misses":1,"cache_references":2,"wall_time":{"secs":1,"nanos":500000000}},{"wall_time":{"secs":2,"nanos":0}}]}}`,
			runner.ParseBenchlib,
			[]sample{{"cycles:u": 10, "instructions:u": 20, "cache-misses": 1, "cache-references": 2, "wall-time": 1.5}, {"wall-time": 2}},
			"",
		},
		{
			"benchlib, several", `{"Result":{"name":"a","stats":[{"wall_time":{"secs":1,"nanos":0}}]}}` + "\n" + `{"Result":{"name":"b","stats":[{"wall_time":{"secs":2,"nanos":0}}]}}`,
			runner.ParseBenchlib,
			[]sample{{"a:wall-time": 1, "b:wall-time": 2}},
			"",
		},
		{"benchlib, other", `{"Other":1}`, runner.ParseBenchlib, nil, `line 1: there is no "Result" in it`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.parse([]byte(test.text))
			text := ""
			if err != nil {
				text = err.Error()
				got = nil
			}
			if text != test.wantErr {
				t.Errorf("error %q, want %q", text, test.wantErr)
			}
			if diff := cmp.Diff(test.want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
				t.Errorf("samples (-want +got):\n%s", diff)
			}
		})
	}
}

func fuzz(f *testing.F, parse runner.Parser) {
	for _, seed := range []string{
		"", "{", "BenchmarkA-2 1 5 ns/op\nBenchmarkA-2 1 NaN ns/op\n", `{"metric":"a","value":1e308,"unit":"GiB"}`, `{"metric":"a","value":1}`,
		`{"Result":{"name":"a","stats":[{"cycles":1,"wall_time":{"secs":1,"nanos":0}}]}}`, "Unit ns/op better=lower\nBenchmark/ 1 2 x",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		samples, err := parse(data)
		if err != nil {
			return
		}
		for _, s := range samples {
			if len(s) == 0 {
				t.Error("a sample without metrics")
			}
			for metric, value := range s {
				if metric == "" || math.IsNaN(value) || math.IsInf(value, 0) {
					t.Errorf("metric %q is %v", metric, value)
				}
			}
		}
	})
}

func FuzzParseJSONLines(f *testing.F) { fuzz(f, runner.ParseJSONLines) }
func FuzzParseBenchfmt(f *testing.F)  { fuzz(f, runner.ParseBenchfmt) }
func FuzzParseBenchlib(f *testing.F)  { fuzz(f, runner.ParseBenchlib) }
