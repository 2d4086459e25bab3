package website

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"strings"
	"sync"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/suite"
)

// The bounds of what is kept of definitions and plans, in entries and bytes. Both are made again when they are needed.
const (
	keptDefinitions, definitionsBytes = 64, 32 << 20
	keptPlans, plansBytes             = 128, 48 << 20
)

// planner turns choices into plans. All that it keeps follows from digests, so it is right for ever.
type planner struct {
	definitions *kept[*suite.Definitions]
	plans       *kept[*plan]
	sizes       *kept[[]suite.Size]
	// offering remembers of digests whether there is something to choose.
	offering *kept[bool]
}

func newPlanner() *planner {
	return &planner{
		definitions: newKept[*suite.Definitions](keptDefinitions, definitionsBytes), plans: newKept[*plan](keptPlans, plansBytes),
		sizes: newKept[[]suite.Size](keptDefinitions, 4<<20), offering: newKept[bool](100_000, 16<<20),
	}
}

// plan is what a request makes that is expanded with a template.
type plan struct {
	template suite.Template
	// jobs are those that are made, in an order in which they could run, needs the needs between them, and off what is
	// switched off.
	jobs  []suite.PlannedJob
	needs []graph.Need
	off   []suite.PlannedOff
	// key names everything that decides about it.
	key string
	// picture makes what a page shows of it, once.
	picture func() *picture
}

// picture is a plan as a page draws it.
type picture struct {
	Folded bool
	// SVG is empty if no job needs another one.
	SVG  template.HTML
	Rows []planRow
}

// planRow is a box of the picture in words.
type planRow struct {
	Name     string
	Optional bool
	// Step counts from 1; 0 for a box of several jobs.
	Step  int
	Needs []neededRow
}

// definitionsOf returns the definitions with a digest.
func (s *Server) definitionsOf(ctx context.Context, digest events.Digest) (*suite.Definitions, error) {
	if d, ok := s.planner.definitions.get(string(digest)); ok {
		return d, nil
	}
	row, err := s.Reader.Definition(ctx, digest)
	if err != nil {
		return nil, err
	}
	d, err := suite.Parse(row.Content)
	if err != nil {
		return nil, wrong(http.StatusUnprocessableEntity, "see which program published them with `tacho suite branches "+string(row.Suite)+"`",
			"the definitions %s of suite %s cannot be read by this program: %s", short(string(digest)), row.Suite, clipped(err.Error()))
	}
	s.planner.definitions.put(string(digest), &d, 8*len(row.Content))
	return &d, nil
}

// offers reports whether definitions leave something to choose. Those that cannot be read leave nothing.
func (s *Server) offers(ctx context.Context, digest events.Digest) (bool, error) {
	if known, ok := s.planner.offering.get(string(digest)); ok {
		return known, nil
	}
	d, err := s.definitionsOf(ctx, digest)
	e, said := explain(err)
	unreadable := said && e.Status == http.StatusUnprocessableEntity
	switch {
	case errors.Is(err, readmodel.ErrNotFound):
		return false, nil
	case err != nil && !unreadable:
		return false, err
	}
	some := !unreadable && d.HasChoices()
	s.planner.offering.put(string(digest), some, 128)
	return some, nil
}

// choosing reports whether some suite leaves something to choose now.
func (s *Server) choosing(ctx context.Context) bool {
	digests, err := s.Reader.DigestsInForce(ctx)
	if err != nil {
		return false // without tables a page shows less
	}
	for _, digest := range digests {
		some, err := s.offers(ctx, digest)
		if err == nil && some {
			return true
		}
	}
	return false
}

// planOf returns the plan of a request of a kind with a template, and parameters if it names some.
func (s *Server) planOf(d *suite.Definitions, digest events.Digest, kind events.RequestKind, t suite.Template, asked events.Parameters) (*plan, error) {
	decides, err := json.Marshal([]any{digest, kind, t, asked})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(decides)
	key := hex.EncodeToString(sum[:16])
	if p, ok := s.planner.plans.get(key); ok {
		return p, nil
	}
	x, err := d.BoundedExpansion(t, suite.Request{
		Artifact: events.Artifact{Suite: d.Name, Tag: "plan", Kind: kind}, Parameters: asked, Definitions: digest, Nameless: true,
	})
	if err != nil {
		return nil, wrong(http.StatusUnprocessableEntity, "choose something else", "%s", clipped(err.Error()))
	}
	jobs, needs, off, err := d.PlannedJobs(x.Own, x.Off, false)
	if err != nil {
		return nil, wrong(http.StatusUnprocessableEntity, "choose something else", "%s", clipped(err.Error()))
	}
	p := &plan{template: t, jobs: jobs, needs: needs, off: off, key: key}
	p.picture = sync.OnceValue(p.draw)
	s.planner.plans.put(key, p, p.size())
	return p, nil
}

// size returns about how many bytes the plan takes, with its picture.
func (p *plan) size() int {
	n := 4<<10 + 48*len(p.needs)
	for _, j := range p.jobs {
		n += 192 + len(j.Name)
	}
	for _, o := range p.off {
		n += 160 + len(o.Name) + len(o.Reason)
	}
	return n + 1<<10*min(len(p.jobs), graph.MaxDrawn)
}

// draw makes the picture.
func (p *plan) draw() *picture {
	drawn := make([]graph.Drawn, len(p.jobs))
	steps := make([]int, len(p.jobs))
	for _, j := range p.jobs {
		drawn[j.Number] = graph.Drawn{Label: j.Label, Optional: j.Optional}
		steps[j.Number] = j.Step
	}
	d := graph.Draw(drawn, p.needs)
	v := &picture{Folded: d.Folded}
	if len(d.Lines) > 0 {
		v.SVG = template.HTML(d.SVG("What the jobs would need")) // the drawing escapes its texts
	}
	if d.Folded && d.Depth == graph.Whole { // for too many lines: boxes alone say more
		d = graph.FoldWithin(drawn, nil, graph.MaxDrawn, graph.MaxLines)
	}
	v.Rows = make([]planRow, len(d.Boxes))
	for i, b := range d.Boxes {
		v.Rows[i] = planRow{Name: b.Name, Optional: b.Optional}
		if !d.Folded {
			v.Rows[i].Step = steps[i]
		}
	}
	for _, l := range d.Lines {
		v.Rows[l.Job].Needs = append(v.Rows[l.Job].Needs, neededRow{Name: d.Boxes[l.On].Name, Ended: l.Until == events.UntilEnded})
	}
	return v
}

// sizesOf returns how many jobs each template of definitions makes.
func (s *Server) sizesOf(d *suite.Definitions, digest events.Digest) ([]suite.Size, error) {
	if known, ok := s.planner.sizes.get(string(digest)); ok {
		return known, nil
	}
	sizes, err := d.Sizes()
	if err != nil {
		return nil, wrong(http.StatusUnprocessableEntity, "`tacho suite check` tells more", "%s", clipped(err.Error()))
	}
	s.planner.sizes.put(string(digest), sizes, 128*len(sizes))
	return sizes, nil
}

// clipped cuts a text that others may have made long.
func clipped(text string) string { return cut(text, 2000) }

// cut cuts a text to so many bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
