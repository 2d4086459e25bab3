package suite

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// maxExpanded is how many jobs, with those that are switched off, a request without parameters may be expanded to.
const maxExpanded = 10 * graph.MaxJobs

// maxExpandedInAll is how many jobs the templates of a file may have together. It keeps the time to check a file short.
const maxExpandedInAll = 1_000_000

// Size is how many jobs requests of a kind that set no options make in one graph for one branch.
type Size struct {
	// Branch is the pattern of a [[branch]]; empty for all other branches.
	Branch string `json:"branch,omitempty"`
	Graph  string `json:"graph,omitempty"`
	// Default says that it is the graph of requests that name none.
	Default bool               `json:"default,omitempty"`
	Request events.RequestKind `json:"request"`
	Jobs    int                `json:"jobs"`
	// Off counts the jobs that are switched off.
	Off int `json:"switched_off"`
}

// Sizes returns the size of each template: branch by branch, graph by graph, for each kind of request.
func (d Definitions) Sizes() ([]Size, error) {
	var all []Size
	templates := map[events.RequestKind][]Template{}
	s := newSizer(d, false)
	for _, kind := range requestKinds() {
		t, err := d.Templates(kind)
		if err != nil {
			return nil, err
		}
		templates[kind] = t
	}
	for i := range templates[events.Master] {
		for _, kind := range requestKinds() {
			t := templates[kind][i]
			made, err := s.size(t, kind)
			if err != nil {
				return nil, err
			}
			usual, err := d.graph(d.branch(t.Branch).Graph)
			if err != nil {
				return nil, err
			}
			all = append(all, Size{t.Branch, t.Graph, t.Graph == usual.Name, kind, made.jobs, made.off})
		}
	}
	return all, nil
}

func requestKinds() []events.RequestKind {
	return []events.RequestKind{events.Master, events.Try, events.Release}
}

// branch returns the [[branch]] with a pattern.
func (d Definitions) branch(match string) Branch {
	b, _ := find(d.Branches, func(b Branch) bool { return b.Match == match })
	return b
}

// sizer expands templates, equal ones once.
type sizer struct {
	definitions Definitions
	sizes       map[string]size
	// check says that the graphs are checked, too.
	check bool
	// total counts the jobs that it made.
	total int
}

type size struct {
	jobs, off int
	// wrong says why the graph is too large.
	wrong error
}

func newSizer(d Definitions, check bool) *sizer {
	return &sizer{definitions: d, sizes: map[string]size{}, check: check}
}

func (s *sizer) size(t Template, kind events.RequestKind) (size, error) {
	same, err := json.Marshal([]any{kind, t.Kinds, t.Options, t.Parameters})
	if err != nil {
		return size{}, err
	}
	if known, ok := s.sizes[string(same)]; ok {
		return known, nil
	}
	n, err := s.definitions.count(t, kind, events.Parameters{})
	if err != nil {
		return size{}, err
	}
	if n > maxExpanded {
		return size{}, fmt.Errorf("%d jobs, with those that are switched off, are too many: at most %d are possible", n, maxExpanded)
	}
	if s.total += n; s.total > maxExpandedInAll {
		return size{}, fmt.Errorf("the graphs for all branches and kinds of requests have over %d jobs together: remove some", maxExpandedInAll)
	}
	x, err := s.definitions.ExpansionWith(t, Request{
		Artifact: events.Artifact{Suite: s.definitions.Name, Tag: "any", Kind: kind}, Definitions: "any", Nameless: true,
	})
	if err != nil {
		return size{}, err
	}
	made := size{jobs: len(x.Own), off: len(x.Off)}
	if s.check {
		made.wrong = graph.Check(len(x.Own), s.definitions.Edges(x.Own), func(i int) string { return graph.LabelOf(x.Own[i]).String() })
	}
	s.sizes[string(same)] = made
	return made, nil
}

// templateSizes checks that no template is too large. Options that requests set are not tried: what they switch on has a
// limit of its own, since the jobs that are switched off count in it.
func (c *checker) templateSizes(d Definitions) {
	s := newSizer(d, true)
	for _, kind := range requestKinds() {
		templates, err := d.Templates(kind)
		if err != nil {
			c.report("graph", "%v", err)
			return
		}
		for _, t := range templates {
			at := "kind"
			if i := slices.IndexFunc(d.Graphs, func(g Graph) bool { return g.Name == t.Graph }); i >= 0 {
				at = index("graph", i)
			}
			made, err := s.size(t, kind)
			if err = cmp.Or(err, made.wrong); err != nil {
				c.report(at, "%s: %v", t.words(kind), err)
				return
			}
		}
	}
}

// HasChoices reports whether requests and branches can choose something.
func (d Definitions) HasChoices() bool {
	return len(d.Options)+len(d.Graphs)+len(d.Branches) > 0
}

// count returns how many jobs a template is expanded to, with those that are switched off, without making them.
func (d Definitions) count(t Template, kind events.RequestKind, asked events.Parameters) (jobs int, err error) {
	p, err := d.parameters(asked, t.Parameters)
	if err != nil {
		return 0, err
	}
	e := expansion{definitions: d, parameters: p}
	for _, k := range d.Kinds {
		if !k.madeFor(kind) {
			continue
		}
		jobs += e.count(k)
	}
	return jobs, nil
}

// words says which requests a template is for.
func (t Template) words(kind events.RequestKind) string {
	words := fmt.Sprintf("a %s request", kind)
	if t.Graph != "" {
		words += " with graph " + t.Graph
	}
	if t.Branch != "" {
		words += " for branch " + t.Branch
	}
	return words
}
