package graph

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
)

// boxesIn reads a drawing as XML and counts its boxes, lines and links. It returns the texts too.
func boxesIn(svg string) (boxes, lines, links int, texts []string, err error) {
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return boxes, lines, links, texts, nil
		}
		if err != nil {
			return 0, 0, 0, nil, err
		}
		switch e := token.(type) {
		case xml.StartElement:
			switch {
			case e.Name.Local == "rect":
				boxes++
			case e.Name.Local == "path":
				lines++ // and its head
			case e.Name.Local == "a":
				links++
			}
		case xml.CharData:
			texts = append(texts, string(e))
		}
	}
}

func job(kind, target, profile, state string) Drawn {
	return Drawn{Label: Label{Kind: events.JobKind(kind), Target: events.Target(target), Backend: "gc", Profile: events.Profile(profile)}, State: state}
}

func TestNamesSayWhatDiffers(t *testing.T) {
	for _, tt := range []struct {
		name string
		jobs []Label
		want []string
	}{
		{"one of a kind", []Label{{Kind: "smoke", Target: "amd"}, {Kind: "boot", Target: "arm"}}, []string{"smoke", "boot"}},
		{
			"within their kind",
			[]Label{{Kind: "smoke", Target: "amd"}, {Kind: "smoke", Target: "arm"}, {Kind: "run", Target: "amd", Profile: "opt"}, {Kind: "run", Target: "amd", Set: 1, Profile: "debug"}},
			[]string{"smoke/amd", "smoke/arm", "run/0/opt", "run/1/debug"},
		},
		{"the same", []Label{{Kind: "a"}, {Kind: "a"}, {Kind: "b"}}, []string{"a #0", "a #1", "b"}},
	} {
		if diff := cmp.Diff(tt.want, Names(tt.jobs)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	if got := (Label{Kind: "compile", Target: "amd", Set: 2, Backend: "gc", Profile: "opt"}).String(); got != "compile/amd/2/gc/opt" {
		t.Error(got)
	}
}

func TestStepsFollowTheLongestPath(t *testing.T) {
	needs := []Need{{Job: 1, On: 0}, {Job: 2, On: 1}, {Job: 2, On: 0}, {Job: 4, On: 3}, {Job: 9, On: 0}, {Job: 3, On: 3}}
	if diff := cmp.Diff([]int{0, 1, 2, 0, 1}, Steps(5, needs)); diff != "" {
		t.Error(diff)
	}
}

// golden compares a drawing with the one that is kept.
func golden(t *testing.T, name, got string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

func small() ([]Drawn, []Need) {
	jobs := []Drawn{job("smoke", "amd", "debug", "success"), job("compile", "amd", "debug", "in_progress"), job("compile", "amd", "opt", "skipped"), job("report", "amd", "opt", "blocked")}
	jobs[1].Link, jobs[2].Note, jobs[3].Optional = "/jobs/1", "because of <smoke> & co", true
	return jobs, []Need{{Job: 1, On: 0}, {Job: 2, On: 0}, {Job: 3, On: 1, Until: events.UntilEnded}, {Job: 3, On: 2, Until: events.UntilEnded}}
}

func TestDrawingOfASmallGraph(t *testing.T) {
	d := Draw(small())
	golden(t, "small.svg", d.SVG("graph of r1"))
	golden(t, "small.dot", d.DOT())
	if file := d.File("graph"); !strings.Contains(file, "<style>") || !strings.Contains(file, "prefers-color-scheme:dark") {
		t.Error("a file has no style")
	}
}

func TestLargeGraphsAreFolded(t *testing.T) {
	var jobs []Drawn
	var needs []Need
	for i := range 512 {
		state := "success"
		if i%40 == 0 {
			state = "skipped"
		}
		jobs = append(jobs, job("compile", "amd", string(rune('a'+i)), state))
	}
	jobs = append(jobs, job("report", "amd", "opt", "blocked"), job("report", "arm", "opt", "queued"))
	for i := range 512 {
		needs = append(needs, Need{Job: 512, On: i, Until: events.UntilEnded}, Need{Job: 513, On: i, Until: events.UntilEnded})
	}
	needs = append(needs, Need{Job: 513, On: 4})
	d := Draw(jobs, needs)
	var got []string
	for _, b := range d.Boxes {
		got = append(got, b.Name+" · "+b.Words()+" · "+b.State)
	}
	want := []string{"compile · 512 jobs · 499 success, 13 skipped · mixed", "report/amd · 1 job · blocked · blocked", "report/arm · 1 job · queued · queued"}
	if diff := cmp.Diff(want, got); diff != "" || !d.Folded {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Line{{On: 0, Job: 1, Until: events.UntilEnded}, {On: 0, Job: 2}}, d.Lines); diff != "" {
		t.Error(diff)
	}
	for i := range jobs {
		jobs[i].Target = events.Target(jobs[i].Profile + events.Profile(rune('a'+i)))
	}
	if d := Draw(jobs, needs); len(d.Boxes) != 2 || d.Boxes[0].Name != "compile · 512 jobs" {
		t.Errorf("too many groups are not folded by kind alone: %d boxes", len(d.Boxes))
	}
}

// A drawing of anything is XML, and has one box for each job or group and one line for each need.
func TestDrawingsAreWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a", `"><script>`, "</text>", "]]>", "\x00\x1b", "&amp;", "\xff"}))
		jobs := make([]Drawn, rapid.OneOf(rapid.IntRange(0, 12), rapid.IntRange(195, 210)).Draw(t, "jobs"))
		for i := range jobs {
			jobs[i] = Drawn{
				Label: Label{
					Kind: events.JobKind(text.Draw(t, "kind")), Target: events.Target(rapid.SampledFrom([]string{"amd", "arm", `"`}).Draw(t, "target")),
					Set: events.Set(i), Profile: events.Profile(text.Draw(t, "profile")),
				},
				State: rapid.OneOf(text, rapid.SampledFrom([]string{"success", "blocked", "failure", "in_progress"})).Draw(t, "state"),
				Link:  text.Draw(t, "link"), Note: text.Draw(t, "note"), Optional: rapid.Bool().Draw(t, "optional"),
			}
		}
		needs := make([]Need, rapid.IntRange(0, 30).Draw(t, "needs"))
		for i := range needs {
			needs[i] = Need{Job: rapid.IntRange(-1, len(jobs)).Draw(t, "job"), On: rapid.IntRange(-1, len(jobs)).Draw(t, "on"), Until: events.Until(rapid.SampledFrom([]string{"", "ended"}).Draw(t, "until"))}
		}
		d := Draw(jobs, needs)
		in := 0
		for _, b := range d.Boxes {
			in += b.Jobs
		}
		if in != len(jobs) || d.Folded != (len(jobs) > MaxDrawn) || !d.Folded && len(d.Boxes) != len(jobs) {
			t.Fatalf("%d boxes for %d jobs hold %d", len(d.Boxes), len(jobs), in)
		}
		for _, svg := range []string{d.SVG("a <graph>"), d.File("a <graph>")} {
			boxes, lines, links, _, err := boxesIn(svg)
			linked := len(slices.DeleteFunc(slices.Clone(d.Boxes), func(b Box) bool { return b.Link == "" }))
			if err != nil || boxes != len(d.Boxes) || lines != 2*len(d.Lines) || links != linked {
				t.Fatalf("%v: %d boxes, %d lines and %d links for %d, %d and %d:\n%s", err, boxes, lines, links, len(d.Boxes), len(d.Lines), linked, svg)
			}
		}
		if again := Draw(jobs, needs); again.SVG("a <graph>") != d.SVG("a <graph>") || again.DOT() != d.DOT() {
			t.Fatal("the same graph is drawn in two ways")
		}
	})
}

func FuzzDrawingsHoldAnyText(f *testing.F) {
	f.Add("compile", "linux-amd64", "success", "/jobs/1")
	f.Add("<script>", `"`, "x\" onload=\"y", "javascript:")
	f.Add("\x00", "\xff\xfe", "]]>", "&#0;")
	f.Fuzz(func(t *testing.T, kind, target, state, link string) {
		jobs := []Drawn{{Label: Label{Kind: events.JobKind(kind), Target: events.Target(target)}, State: state, Link: link, Note: state}, {Label: Label{Kind: events.JobKind(target)}}}
		d := Draw(jobs, []Need{{Job: 1, On: 0}})
		boxes, lines, _, texts, err := boxesIn(d.SVG(link))
		if err != nil || boxes != 2 || lines != 2 || len(texts) == 0 {
			t.Fatalf("%v: %d boxes, %d lines", err, boxes, lines)
		}
		if strings.Contains(d.SVG(link), "<script") || strings.Count(d.DOT(), "\n") != 7 {
			t.Fatalf("a text is not escaped:\n%s", d.DOT())
		}
	})
}
