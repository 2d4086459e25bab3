package suite

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
)

// Timing says how long one benchmark takes on one target.
type Timing struct {
	// Length is how long all its test cases of one artifact take; 0 is unknown.
	Length time.Duration
	// Cases of Of test cases were measured. The others are assumed to be as long. Both are 0 when the length comes from
	// a file.
	Cases, Of int
	// Artifacts and Results say how much the benchmark's present machine has measured. This history becomes
	// incomparable once another machine measures the benchmark.
	Artifacts, Results int
}

// CaseTiming says how long one test case takes.
type CaseTiming struct {
	events.TestCase
	// Length is how long all its iterations take; 0 is unknown.
	Length time.Duration
	// Artifacts is for how many artifacts the benchmark's present machine has measured it.
	Artifacts int
}

// Timings adds up the timings of the test cases that a request of that kind without parameters has on a target. It
// leaves out a benchmark without any known length.
func (d Definitions) Timings(target events.Target, kind events.RequestKind, cases []CaseTiming) map[events.Benchmark]Timing {
	known := make(map[events.TestCase]CaseTiming, len(cases))
	for _, c := range cases {
		known[c.TestCase] = c
	}
	timings := map[events.Benchmark]Timing{}
	for _, b := range d.Benchmarks {
		wanted := d.defaultCases(b, target, kind)
		t := Timing{Of: len(wanted)}
		for _, c := range wanted {
			seen := known[c]
			t.Artifacts, t.Results = max(t.Artifacts, seen.Artifacts), t.Results+seen.Artifacts
			if seen.Length > 0 {
				t.Length, t.Cases = t.Length+seen.Length, t.Cases+1
			}
		}
		if t.Cases > 0 {
			t.Length = t.Length / time.Duration(t.Cases) * time.Duration(t.Of)
			timings[b.Name] = t
		}
	}
	return timings
}

// defaultCases returns the test cases of b that a request of that kind without parameters has on a target; none when
// b's job kind is not split into sets.
func (d Definitions) defaultCases(b BenchmarkDef, target events.Target, kind events.RequestKind) []events.TestCase {
	k, ok := d.Kind(b.Kind)
	switch {
	case !ok, !k.PerSet, k.Primary && target != d.PrimaryTarget,
		len(k.Requests) > 0 && !slices.Contains(k.Requests, kind),
		!slices.Contains(d.Categories[kind], b.Category):
		return nil
	}
	e := expansion{definitions: d}
	var all []events.TestCase
	for _, backend := range e.backends(k) {
		for _, name := range e.profiles(k) {
			profile, _ := d.Profile(name)
			if slices.Contains(b.ExcludeProfiles, name) {
				continue
			}
			job := events.JobSpec{Target: target, Backend: backend, Profile: name}
			all = append(all, cases(job, b, d.chain(profile, b))...)
		}
	}
	return all
}

// ParseTimings reads lengths of benchmarks in seconds: a JSON object {"name": seconds}, or lines of CSV
// "name,seconds", with or without a heading. The error names the line or the benchmark.
func ParseTimings(data []byte) (map[events.Benchmark]Timing, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if strings.HasPrefix(strings.TrimSpace(string(data)), "{") {
		return parseTimingsJSON(data)
	}
	return parseTimingsCSV(data)
}

func parseTimingsJSON(data []byte) (map[events.Benchmark]Timing, error) {
	var seconds map[events.Benchmark]float64
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&seconds); err != nil {
		return nil, fmt.Errorf(`durations: %w; use {"name": seconds}`, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("durations: something follows the object")
	}
	timings := make(map[events.Benchmark]Timing, len(seconds))
	for name, s := range seconds {
		length, err := lengthOf(s)
		if err != nil {
			return nil, fmt.Errorf("durations: benchmark %q: %w", name, err)
		}
		timings[name] = Timing{Length: length}
	}
	return timings, nil
}

func parseTimingsCSV(data []byte) (map[events.Benchmark]Timing, error) {
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord, r.TrimLeadingSpace, r.Comment = 2, true, '#'
	timings := map[events.Benchmark]Timing{}
	for first := true; ; first = false {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("durations: %w; use lines of the form name,seconds", err)
		}
		line, _ := r.FieldPos(0)
		s, err := strconv.ParseFloat(strings.TrimSpace(row[1]), 64)
		if err != nil && first {
			continue // the heading
		}
		if err != nil {
			return nil, fmt.Errorf("durations: line %d: %q is no number of seconds", line, row[1])
		}
		length, err := lengthOf(s)
		name := events.Benchmark(strings.TrimSpace(row[0]))
		if _, twice := timings[name]; twice && err == nil {
			err = fmt.Errorf("benchmark %q is there twice", name)
		}
		if err != nil {
			return nil, fmt.Errorf("durations: line %d: %w", line, err)
		}
		timings[name] = Timing{Length: length}
	}
	return timings, nil
}

// maxLength keeps sums of lengths far below the largest Duration.
const maxLength = 365 * 24 * time.Hour

func lengthOf(seconds float64) (time.Duration, error) {
	if math.IsNaN(seconds) || seconds <= 0 || seconds > maxLength.Seconds() {
		return 0, fmt.Errorf("%v seconds: use a number above 0, and leave out what is unknown", seconds)
	}
	return max(time.Duration(seconds*float64(time.Second)), 1), nil
}
