package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/tachobench/tacho/collector/measure"
	"github.com/tachobench/tacho/events"
)

// Parser reads the metrics that a command printed to stdout: one map per sample. When a metric comes again, its value
// belongs to the next sample. A Parser skips lines that are not of its format.
type Parser func(stdout []byte) ([]map[events.Metric]float64, error)

// ParserOf returns the parser of a format that definitions may name, nil for the empty one.
func ParserOf(format string) (Parser, error) {
	switch format {
	case "":
		return nil, nil
	case "jsonlines":
		return ParseJSONLines, nil
	case "benchfmt":
		return ParseBenchfmt, nil
	case "benchlib":
		return ParseBenchlib, nil
	}
	return nil, fmt.Errorf("unknown format %q: use jsonlines, benchfmt or benchlib", format)
}

// samples collects values: the n-th value of a metric belongs to the n-th sample.
type samples struct {
	all  []map[events.Metric]float64
	seen map[events.Metric]int
}

var metricForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9:._+-]{0,127}$`)

func (s *samples) add(metric string, value float64) error {
	if !metricForm.MatchString(metric) {
		return fmt.Errorf("metric %q: use up to 128 letters, digits and %q, starting with a letter or digit", metric, ":._+-")
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return fmt.Errorf("metric %s: %v is no number", metric, value)
	}
	if s.seen == nil {
		s.seen = map[events.Metric]int{}
	}
	m := events.Metric(metric)
	n := s.seen[m]
	s.seen[m]++
	if n == len(s.all) {
		s.all = append(s.all, map[events.Metric]float64{})
	}
	s.all[n][m] = value
	return nil
}

// units maps units to their size in our units, seconds and bytes. Any other unit stays as it is.
func units() map[string]float64 {
	return map[string]float64{
		"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600,
		"kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
	}
}

// ParseJSONLines reads lines such as {"metric":"latency","value":12.5,"unit":"ms"}. It skips lines that do not begin
// with a brace. It turns times into seconds and sizes into bytes; other units change nothing.
func ParseJSONLines(stdout []byte) ([]map[events.Metric]float64, error) {
	var s samples
	scale := units()
	err := jsonLines(stdout, func(d *json.Decoder) error {
		var line struct {
			Metric string   `json:"metric"`
			Value  *float64 `json:"value"`
			Unit   string   `json:"unit"`
		}
		if err := d.Decode(&line); err != nil {
			return err
		}
		if line.Value == nil {
			return fmt.Errorf("metric %q has no value", line.Metric)
		}
		factor, known := scale[line.Unit]
		if !known {
			factor = 1
		}
		return s.add(line.Metric, *line.Value*factor)
	})
	return s.all, err
}

// jsonLines calls f for each line that begins with a brace, with a decoder of that line. The line must hold one
// object only.
func jsonLines(data []byte, f func(*json.Decoder) error) error {
	number := 0
	for line := range bytes.Lines(data) {
		number++
		line = bytes.TrimSpace(line)
		if !bytes.HasPrefix(line, []byte("{")) {
			continue
		}
		d := json.NewDecoder(bytes.NewReader(line))
		err := f(d)
		if err == nil {
			if _, extra := d.Token(); !errors.Is(extra, io.EOF) {
				err = errors.New("something follows the object")
			}
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	return nil
}

// ParseBenchfmt reads the format of Go's benchmarks. The name of a metric is its unit, as in "sec-per-op". If the
// output holds several benchmarks, the name is the benchmark and the unit, as in "Encode:sec-per-op".
func ParseBenchfmt(stdout []byte) ([]map[events.Metric]float64, error) {
	var all []named
	reader := benchfmt.NewReader(bytes.NewReader(stdout), "output")
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, record
		case *benchfmt.Result:
			name := strings.TrimSuffix(string(record.Name.Full()), processors(record.Name))
			for _, v := range record.Values {
				all = append(all, named{plain(name), plain(strings.ReplaceAll(v.Unit, "/", "-per-")), v.Value})
			}
		}
	}
	if err := reader.Err(); err != nil {
		return nil, err
	}
	return sortOut(all)
}

// processors returns the suffix of a benchmark's name that tells GOMAXPROCS, such as "-2".
func processors(name benchfmt.Name) string {
	_, parts := name.Parts()
	if len(parts) > 0 && bytes.HasPrefix(parts[len(parts)-1], []byte("-")) {
		return string(parts[len(parts)-1])
	}
	return ""
}

var notPlain = regexp.MustCompile(`[^A-Za-z0-9._+-]+`)

// plain turns a foreign name into one that a metric may have.
func plain(name string) string {
	return strings.Trim(notPlain.ReplaceAllString(name, "-"), "-._+")
}

// named is one value of a metric of one of several benchmarks.
type named struct {
	benchmark, metric string
	value             float64
}

// sortOut makes samples. If there are several benchmarks, the benchmark is part of each metric's name.
func sortOut(all []named) ([]map[events.Metric]float64, error) {
	var s samples
	several := false
	for _, n := range all {
		several = several || n.benchmark != all[0].benchmark
	}
	for _, n := range all {
		metric := n.metric
		if several {
			metric = n.benchmark + ":" + metric
		}
		if err := s.add(metric, n.value); err != nil {
			return nil, err
		}
	}
	return s.all, nil
}

// ParseBenchlib reads the output of programs that are built with rustc-perf's benchlib: a line per benchmark with the
// statistics of each of its iterations. The metrics have our own names for the same things. If there are several
// benchmarks, the name of the benchmark comes before the metric's.
func ParseBenchlib(stdout []byte) ([]map[events.Metric]float64, error) {
	var all []named
	err := jsonLines(stdout, func(d *json.Decoder) error {
		var line struct {
			Result *struct {
				Name  string `json:"name"`
				Stats []struct {
					Cycles          *uint64 `json:"cycles"`
					Instructions    *uint64 `json:"instructions"`
					BranchMisses    *uint64 `json:"branch_misses"`
					CacheMisses     *uint64 `json:"cache_misses"`
					CacheReferences *uint64 `json:"cache_references"`
					WallTime        *struct {
						Secs  uint64 `json:"secs"`
						Nanos uint32 `json:"nanos"`
					} `json:"wall_time"`
				} `json:"stats"`
			}
		}
		if err := d.Decode(&line); err != nil {
			return err
		}
		if line.Result == nil {
			return errors.New(`there is no "Result" in it`)
		}
		name := plain(line.Result.Name)
		for _, stat := range line.Result.Stats {
			for _, counter := range []struct {
				metric events.Metric
				value  *uint64
			}{
				{measure.CyclesU, stat.Cycles},
				{measure.InstructionsU, stat.Instructions},
				{measure.BranchMisses, stat.BranchMisses},
				{measure.CacheMisses, stat.CacheMisses},
				{"cache-references", stat.CacheReferences},
			} {
				if counter.value != nil {
					all = append(all, named{name, string(counter.metric), float64(*counter.value)})
				}
			}
			if stat.WallTime == nil {
				return errors.New(`statistics have no "wall_time"`)
			}
			seconds := float64(stat.WallTime.Secs) + float64(stat.WallTime.Nanos)*1e-9
			all = append(all, named{name, string(measure.WallTime), seconds})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return sortOut(all)
}
