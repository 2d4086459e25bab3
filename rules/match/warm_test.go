package match_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

func TestWhatAJobLeavesAndWishes(t *testing.T) {
	spec := events.JobSpec{Artifact: events.Artifact{Suite: "go", Tag: "v2"}, Caches: []string{"git", "ccache"}}
	if diff := cmp.Diff([][]string{spec.Caches, spec.Caches}, [][]string{match.Leaves(spec), match.Wishes(spec)}); diff != "" {
		t.Error(diff)
	}
	spec.Against = &events.Artifact{Suite: "go", Tag: "v1"}
	want := [][]string{{"git", "ccache", "=go/v2", "=go/v1"}, {"git", "ccache", "=go/v1"}}
	if diff := cmp.Diff(want, [][]string{match.Leaves(spec), match.Wishes(spec)}); diff != "" {
		t.Error(diff)
	}
	near := match.Near(spec, func(name string) bool { return name != "ccache" })
	if diff := cmp.Diff([]string{"=go/v1", "git"}, near); diff != "" {
		t.Error(diff)
	}
}

func TestTheOldestCachesAreForgotten(t *testing.T) {
	w := match.Warm{}
	w.Fill([]string{"b", "a", "gone"}, 1, []string{"gone"})
	for n := range 254 {
		w.Fill([]string{fmt.Sprint("c", n)}, 2, nil)
	}
	if forgotten := w.Fill([]string{"new"}, 3, nil); len(w) != 256 || !cmp.Equal(forgotten, []string{"a"}) {
		t.Errorf("%d names, forgotten %v", len(w), forgotten)
	}
	w.Cool([]string{"new"})
	if left := w.Count([]string{"a", "b", "c0", "new"}); left != 2 {
		t.Error(left)
	}
}

func TestHowManyPlacesMustEnd(t *testing.T) {
	offer := match.Offer{MemoryMiB: 16 << 10, Slots: 4}
	parse := func(terms ...string) match.Requirement {
		r, err := match.Parse(terms)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	open := []match.Open{{parse("memory=8g"), noon.Add(time.Hour)}, {parse("memory=2g"), noon}, {parse("memory=4g"), noon.Add(time.Minute)}}
	for terms, want := range map[string]int{"memory=2g": 0, "memory=4g": 1, "memory=8g": 2, "memory=9g": 3, "exclusive": 3, "memory=64g": 3} {
		if n := match.Frees(offer, open, parse(terms)); n != want {
			t.Errorf("%s: %d, want %d", terms, n, want)
		}
	}
}
