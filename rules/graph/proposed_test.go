package graph

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

const twoJobs = `{"nodes": [
  {"number": 3, "job_id": "j1", "state": "success", "kind": "smoke", "target": "linux", "set": 0, "backend": "gc", "profile": "opt", "needs": []},
  {"number": 7, "kind": "compile", "target": "linux", "set": 1, "backend": "gc", "profile": "opt", "tag": "abc", "benchmarks": ["re*"],
   "iterations": 30, "optional": true, "requires": ["trait=nvme"], "needs": [{"on": 3, "until": "ended", "met": true}]}
]}`

func TestReadsWhatShowPrints(t *testing.T) {
	p, err := ReadProposed([]byte(twoJobs))
	if err != nil {
		t.Fatal(err)
	}
	inGraphs, err := ReadProposed([]byte(`{"request_id": "r1", "graphs": [` + twoJobs + `]}`))
	if err != nil || inGraphs.Content() != p.Content() {
		t.Errorf("in a list of graphs: %v, %v", inGraphs, err)
	}
	one := p.Jobs[1]
	if len(p.Jobs) != 2 || one.Number != 7 || one.Iterations != 30 || one.Optional == nil || !*one.Optional || p.Jobs[0].Optional != nil ||
		one.Tag != "abc" || !slices.Equal(one.Requires, []string{"trait=nvme"}) || !slices.Equal(one.Benchmarks, []string{"re*"}) {
		t.Errorf("read %+v", p.Jobs)
	}
	if !slices.Equal(p.Needs, []Need{{Job: 1, On: 0, Until: events.UntilEnded}}) {
		t.Errorf("needs %+v", p.Needs)
	}
}

// many returns a graph of so many jobs that each need the first one so often.
func many(jobs, needs int) string {
	var b strings.Builder
	b.WriteString(`{"nodes": [`)
	for i := range jobs {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"number": %d, "kind": "k", "target": "t", "needs": [`, i)
		for n := range needs {
			if n > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"on": %d}`, (i+n+1)%jobs)
		}
		b.WriteString(`]}`)
	}
	b.WriteString(`]}`)
	return b.String()
}

func TestWrongGraphsAreRefusedInWords(t *testing.T) {
	job := `{"kind": "k", "target": "t"`
	for name, c := range map[string]struct{ text, want string }{
		"empty text":     {" \n", "the graph is empty"},
		"no JSON":        {"{\"nodes\": [\n  {\"kind\": x}]}", "line 2, column 12: this is no JSON"},
		"a list":         {"[]", `line 1, column 1: a graph is an object with the list "nodes"`},
		"no nodes":       {`{"jobs": []}`, `the list "nodes"`},
		"no jobs":        {`{"nodes": []}`, "the graph has no jobs: submit one with jobs"},
		"nodes is null":  {`{"nodes": null}`, "nodes is no list of jobs"},
		"several graphs": {`{"graphs": [{"nodes": []}, {"nodes": []}]}`, "there are several graphs: print one of them"},
		"a text as set":  {"{\"nodes\": [\n " + job + `, "set": "one"}]}`, "line 2, column"},
		"a word as need": {`{"nodes": [` + job + `, "needs": 3}]}`, "needs is no list"},
		"a nameless one": {`{"nodes": [` + job + `, "needs": [{}]}]}`, "a need names no job"},
		"no kind":        {`{"nodes": [{"number": 5, "target": "t"}, {"number": 6}]}`, "job 5 (/t/0//): it has no kind or no target"},
		"twice a number": {`{"nodes": [` + job + `, "number": 1}, ` + job + `, "number": 1}]}`, "two jobs have the number 1"},
		"unknown number": {`{"nodes": [` + job + `, "needs": [{"on": 9}]}]}`, "job 0 needs job 9, which the graph does not have"},
		"itself":         {`{"nodes": [` + job + `, "needs": [{"on": 0}]}]}`, "job 0 (k/t/0//) needs itself"},
		"a cycle":        {`{"nodes": [` + job + `, "set": 1, "needs": [{"on": 1}]}, ` + job + `, "set": 2, "needs": [{"on": 0}]}]}`, "job 0 (k/t/1//) → job 1 (k/t/2//) → job 0 (k/t/1//)"},
		"until":          {`{"nodes": [` + job + `}, ` + job + `, "needs": [{"on": 0, "until": "soon"}]}]}`, `until is "soon": write "ended"`},
		"iterations":     {`{"nodes": [` + job + `, "iterations": -1}]}`, "iterations is -1"},
		"set":            {`{"nodes": [` + job + `, "set": -1}]}`, "set is -1"},
		"tag":            {`{"nodes": [` + job + `, "tag": "a b"}]}`, `tag "a b"`},
		"10,001 jobs":    {many(MaxJobs+1, 0), "it may have 10000 jobs and 100000 needs; submit it in parts"},
		"100,001 needs":  {many(1000, 101), "it may have 10000 jobs and 100000 needs; submit it in parts"},
		"a job of 2 MiB": {`{"nodes": [` + job + `, "benchmarks": ["` + strings.Repeat("x", 2<<20) + `"]}]}`, "it is larger than 65536 bytes: name fewer benchmarks"},
		"no UTF-8":       {"{\"nodes\":\n \"\xff\"}", "line 2, column 3: this is no UTF-8 text"},
		"17 MiB":         {strings.Repeat(" ", MaxProposed+1), "more than 16 MiB"},
	} {
		p, err := ReadProposed([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 4000 {
			t.Errorf("%s: %.60v, %.600v, want %q", name, p.Jobs, err, c.want)
		}
	}
	_, err := ReadProposed([]byte(`{"nodes": [` + strings.Repeat(job+`, "set": -1},`, 30) + job + `}]}`))
	if err == nil || strings.Count(err.Error(), "two jobs have the number")+strings.Count(err.Error(), "sets are numbered") != 20 || !strings.HasSuffix(err.Error(), "and 10 more") {
		t.Errorf("30 problems: %v", err)
	}
}

// drawProposed draws a graph in which jobs need earlier ones.
func drawProposed(t *rapid.T) Proposed {
	var p Proposed
	for i := range rapid.IntRange(1, 500).Draw(t, "jobs") {
		p.Jobs = append(p.Jobs, events.ProposedJob{
			Number: i, Kind: "k", Target: "t", Set: events.Set(i), Benchmarks: []string{strings.Repeat("b", rapid.SampledFrom([]int{1, 100, 9000}).Draw(t, "length"))},
		})
		for range min(i, rapid.IntRange(0, 3).Draw(t, "needs")) {
			p.Needs = append(p.Needs, Need{Job: i, On: rapid.IntRange(0, i-1).Draw(t, "on"), Until: rapid.SampledFrom([]events.Until{"", "ended"}).Draw(t, "until")})
		}
	}
	p.sortNeeds()
	return p
}

func TestPartsAreBoundedAndTellAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProposed(t)
		parts := p.Parts("r1", "k1")
		w := events.GraphWanted{Key: "k1", Kind: events.GraphExternal, Parts: len(parts), Content: p.Content()}
		for i, part := range parts {
			if text, err := json.Marshal(part); err != nil || len(part.Jobs) > jobsPerPart || len(text) > bytesPerPart+1000 {
				t.Fatalf("part %d has %d jobs in %d bytes", i, len(part.Jobs), len(text))
			}
		}
		back, whole := JoinParts(w, parts)
		if !whole || back.Content() != p.Content() || !slices.Equal(back.Needs, p.Needs) {
			t.Fatalf("%d parts tell something else", len(parts))
		}
		if _, whole := JoinParts(w, parts[1:]); whole {
			t.Fatal("a missing part was not noticed")
		}
		parts[0].Key = "k2"
		if _, whole := JoinParts(w, parts); whole {
			t.Fatal("a part of another wish is taken")
		}
	})
}

func FuzzReadProposed(f *testing.F) {
	f.Add([]byte(twoJobs))
	f.Add([]byte(`{"graphs": [` + twoJobs + `]}`))
	f.Add([]byte(`{"nodes": [{"kind": "k", "target": "t", "needs": [{"on": 0}]}]}`))
	f.Add([]byte(`{"nodes": [null, {"number": 1e3}]}`))
	f.Add([]byte(`{"nodes": [{"needs": [[]]}], "nodes": []}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadProposed(data)
		if err != nil {
			if err.Error() == "" || strings.Contains(err.Error(), "graph.") || strings.Contains(err.Error(), "events.") {
				t.Errorf("the error is no sentence: %q", err)
			}
			return
		}
		if p.Check() != nil || len(p.Jobs) == 0 || len(p.Jobs) > MaxJobs || len(p.Needs) > MaxNeeds {
			t.Errorf("a wrong graph is taken: %v", p)
		}
		parts := p.Parts("r1", "k1")
		if back, whole := JoinParts(events.GraphWanted{Key: "k1", Parts: len(parts), Content: p.Content()}, parts); !whole || back.Content() != p.Content() {
			t.Errorf("its parts tell something else")
		}
	})
}
