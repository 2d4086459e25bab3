package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

// Whatever machines are free at each dispatch: every unit is taken once, no chunk is empty, there are never more than Max, and
// with equal units, as many as chunks or more, never fewer than Min.
func TestUnitsAreDividedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Chunks{Min: rapid.IntRange(1, 6).Draw(t, "min"), Least: rapid.SampledFrom([]string{"", "1ns", "5m", "100h"}).Draw(t, "least")}
		c.Max = rapid.IntRange(c.Min, 9).Draw(t, "max")
		equal := rapid.Bool().Draw(t, "equal")
		d := Division{Taken: map[events.Benchmark]bool{}, Whole: time.Duration(rapid.Int64Range(0, int64(100*time.Hour)).Draw(t, "whole"))}
		for i := range rapid.IntRange(1, 40).Draw(t, "units") {
			cost := int64(7)
			if !equal {
				cost = rapid.Int64Range(0, 1<<40).Draw(t, "cost")
			}
			d.Units = append(d.Units, Unit{events.Benchmark(fmt.Sprint(i)), cost})
		}
		chunks, parts := 0, 0
		for d.Slots = min(c.Max, len(d.Units)); d.Slots > 0; d.Slots-- {
			d.Lanes = rapid.IntRange(0, 12).Draw(t, "lanes")
			units, part := c.Take(d)
			if len(units) == 0 {
				break
			}
			chunks, parts = chunks+1, parts+part
			for _, u := range units {
				if d.Taken[u] {
					t.Fatalf("%s was taken twice", u)
				}
				d.Taken[u] = true
			}
			if part < 1 || part > events.WholeJob {
				t.Fatalf("a part of %d", part)
			}
		}
		if len(d.Taken) != len(d.Units) || chunks > c.Max {
			t.Fatalf("%d of %d units in %d chunks", len(d.Taken), len(d.Units), chunks)
		}
		if equal && len(d.Units) >= c.Max && chunks < min(c.Min, len(d.Units)) {
			t.Fatalf("%d chunks of %d units, at least %d", chunks, len(d.Units), c.Min)
		}
		if parts > events.WholeJob+chunks {
			t.Fatalf("the parts are %d of %d", parts, events.WholeJob)
		}
	})
}

func TestADividedKindIsManyJobs(t *testing.T) {
	text := strings.Replace(small(t), "version = 1", "version = 2", 1)
	at := strings.Index(text, "[[kind]]") + len("[[kind]]\n")
	text = text[:at] + "lanes = \"any\"\nchunks = { min = 2, max = 2, least = \"1m\" }\n" + text[at:]
	text = strings.Replace(text, "backfill = true\n", "", 1)
	d, err := Load("small.toml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	own, _, err := d.Expand(Request{ID: "r1", Artifact: events.Artifact{Suite: d.Name, Tag: "v2", Kind: events.Master}})
	if err != nil {
		t.Fatal(err)
	}
	ids := map[events.JobID]bool{}
	for i, j := range own {
		ids[j.ID] = true
		units := d.Units(j)
		if len(units) < 2 {
			if j.Chunk != nil {
				t.Errorf("job %d of %d units is chunk %+v", i, len(units), j.Chunk)
			}
			continue
		}
		if j.Chunk == nil || j.ID != j.First() {
			t.Fatalf("job %+v", j)
		}
		chosen := j
		chosen.Chunk = &events.Chunk{Number: j.Chunk.Number, Of: j.Chunk.Of, Units: []events.Benchmark{units[0].Benchmark}, Part: 9}
		plans, err := d.Plan(chosen)
		if err != nil || len(plans) != 1 || plans[0].Benchmark.Name != units[0].Benchmark || chosen.First() != j.ID {
			t.Errorf("plans %v, %v, id %s", plans, err, chosen.First())
		}
		if !Covers(d, chosen, d, j) {
			t.Error("a chunk is to be made again, because it does not measure what the others do")
		}
	}
	if len(ids) != len(own) || !slices.ContainsFunc(own, func(j events.JobSpec) bool { return j.Chunk != nil && j.Chunk.Number == 2 }) {
		t.Errorf("%d ids of %d jobs", len(ids), len(own))
	}
}

func TestChunksThatCannotBe(t *testing.T) {
	for text, want := range map[string]string{
		"lanes = \"any\"\nchunks = { min = 0, max = 2 }":                  "min is 0: use 1 or more",
		"lanes = \"any\"\nchunks = { min = 3, max = 2 }":                  "max is 2, below min: use 3 or more",
		"lanes = \"any\"\nchunks = { min = 1, max = 300 }":                "max is 300: use at most 256",
		"lanes = \"any\"\nchunks = { min = 1, max = 2, least = \"0s\" }":  "least is \"0s\": use a duration above 0",
		"lanes = \"any\"\nchunks = { min = 1, max = 2, least = \"soon\"}": "least is \"soon\": use a duration above 0",
		"chunks = { min = 1, max = 2 }":                                   "only jobs that measure and that any machine can take",
	} {
		all := strings.Replace(small(t), "version = 1", "version = 2", 1)
		at := strings.Index(all, "[[kind]]") + len("[[kind]]\n")
		_, err := Load("small.toml", []byte(all[:at]+text+"\n"+all[at:]), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
