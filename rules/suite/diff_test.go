package suite

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestDiffTellsWhatChanged(t *testing.T) {
	a := load(t, "testdata/small.toml")
	text := small(t)
	for _, change := range [][2]string{
		{`iterations = 3, timeout = "5m"`, `iterations = 5, timeout = "5m"`},
		{`exclude_profiles = ["debug"]`, `args = ["-tags=<x>"]`},
		{`sets = { linux-amd64 = 0, linux-arm64 = 0 }`, `sets = { linux-amd64 = 1, linux-arm64 = 0 }`},
		{`sets = { linux-amd64 = 1, linux-arm64 = 0 }` + "\nexclude", `sets = { linux-amd64 = 0, linux-arm64 = 0 }` + "\nexclude"},
		{`name = "json"`, `name = "gob"`},
	} {
		text = strings.Replace(text, change[0], change[1], 1)
	}
	// The benchmark that no longer excludes anything fills set 0 instead of the one that left it.
	text = strings.Replace(text, "source = \"generics\"\nsets = { linux-amd64 = 1", "source = \"generics\"\nsets = { linux-amd64 = 0", 1)
	b, err := Load("b.toml", []byte(text), anyDigest)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range Diff(a, b) {
		got = append(got, d.String())
	}
	want := []string{
		`suite: defaults.iterations changed from 3 to 5`,
		`benchmark tables: moved from set 0 to set 1 on linux-amd64`,
		`benchmark Generics: args added: ["-tags=<x>"]`,
		`benchmark Generics: exclude_profiles removed, was ["debug"]`,
		`benchmark Generics: moved from set 1 to set 0 on linux-amd64`,
		`benchmark gob: added`,
		`benchmark json: removed`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDiffTellsWhatCanBeChosenNow(t *testing.T) {
	text := choices(t)
	for _, change := range [][2]string{
		{"when = \"profile != 'doc' or docs = 'on'\"\n", ""},
		{`values = ["off", "on"]`, `values = ["on", "off"]`},
		{`who = "branch"`, `who = "request"`},
		{`name = "quick"`, `name = "brief"`},
		{`graph = "quick"`, `graph = "brief"`},
		{`kinds = ["smoke", "compile", "report"]`, `kinds = ["smoke", "compile"]`},
		{`options = { pgo = "on", docs = "off" }`, `options = { pgo = "off" }`},
		{`match = "try"`, `match = "tries"`},
		{`match = "release/*-pre"`, `match = "+"`},
		{`match = "release/*"`, `match = "release/*-pre"`},
		{`match = "+"`, `match = "release/*"`},
	} {
		text = strings.Replace(text, change[0], change[1], 1)
	}
	b, err := Load("b.toml", []byte(text), anyDigest)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range Diff(load(t, "testdata/choices.toml"), b) {
		got = append(got, d.String())
	}
	want := []string{
		`kind compile: when removed, was "profile != 'doc' or docs = 'on'"`,
		`option pgo: values changed from ["off","on"] to ["on","off"]`,
		`option docs: who removed, was "branch"`,
		`graph brief: added`, `graph quick: removed`,
		`branch tries: added`, `branch release/*-pre: customise changed from "options" to "none"`, `branch release/*-pre: max_priority changed from "normal" to "vip"`,
		`branch release/*-pre: options.pgo added: "off"`, `branch release/*-pre: priority added: "high"`,
		`branch release/*: customise changed from "none" to "options"`, `branch release/*: max_priority changed from "vip" to "normal"`,
		`branch release/*: options.docs removed, was "off"`, `branch release/*: options.pgo removed, was "on"`, `branch release/*: priority removed, was "high"`,
		`branch try: removed`, `branches: order changed from ["release/*","release/*-pre"] to ["release/*-pre","release/*"]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDiffSeesTheOrderOfAChain(t *testing.T) {
	a := load(t, "testdata/small.toml")
	b := load(t, "testdata/small.toml")
	slices.Reverse(b.Scenarios)
	want := []Difference{{
		What: "scenarios", Key: "order", Change: Changed,
		From: `["full","incr-full","incr-patched"]`, To: `["incr-patched","incr-full","full"]`,
	}}
	if diff := cmp.Diff(want, Diff(a, b)); diff != "" {
		t.Error(diff)
	}
}

func TestDiffIsEmptyExactlyForEqualDigests(t *testing.T) {
	base := load(t, "testdata/small.toml")
	rapid.Check(t, func(t *rapid.T) {
		edited := base
		edited.Benchmarks = slices.Clone(base.Benchmarks)
		i := rapid.IntRange(0, len(base.Benchmarks)-1).Draw(t, "benchmark")
		b := &edited.Benchmarks[i]
		switch rapid.IntRange(0, 5).Draw(t, "edit") {
		case 0:
		case 1:
			b.Iterations.Number = rapid.IntRange(0, 5).Draw(t, "iterations")
		case 2:
			b.Patches = rapid.SliceOfN(rapid.SampledFrom([]string{"0-println.patch", "<b>"}), 0, 2).Draw(t, "patches")
		case 3:
			edited.Benchmarks = slices.Delete(edited.Benchmarks, i, i+1)
		case 4:
			j := rapid.IntRange(0, len(base.Benchmarks)-1).Draw(t, "other")
			edited.Benchmarks[i], edited.Benchmarks[j] = edited.Benchmarks[j], edited.Benchmarks[i]
		case 5:
			edited.Description = rapid.SampledFrom([]string{"", base.Description}).Draw(t, "description")
		}
		same := base.Digest() == edited.Digest()
		if there, back := Diff(base, edited), Diff(edited, base); (len(there) == 0) != same || (len(back) == 0) != same {
			t.Fatalf("same digest: %v, differences %v and %v", same, there, back)
		}
	})
}
