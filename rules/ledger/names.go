package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// names keeps one copy of what many jobs have in common. Decoding an event would make a new copy each time.
type names struct {
	strings map[string]string
	origins map[origin]*origin
	mores   map[more]*more
	likes   map[like]*events.JobSpec
	// alone is the last list of one wanter: the jobs of a request come one after another.
	alone *[]Wanter
}

// origin is what the jobs of one request and artifact have in common.
type origin struct {
	artifact    events.Artifact
	definitions events.Digest
	request     events.RequestID
	more        *more
}

// more is what the matched jobs of one request and kind have in common, and those of a sample; nil for others.
type more struct {
	against events.Artifact
	// caches are joined by spaces, which no name has.
	caches     string
	sample     string
	iterations int
	// recipe and checkouts, in JSON, are those of a build.
	recipe    events.Digest
	checkouts string
	// number and of are those of a chunk.
	number, of int
}

// like is what jobs of several requests have in common. The lists are quoted, so that different lists give different
// text.
type like struct {
	lane                 events.Lane
	kind                 events.JobKind
	backend              events.Backend
	profile              events.Profile
	benchmarks, measures string
	requires             string
	optional, backfill   bool
	matched              bool
	tokens               events.Tokens
}

func newNames() names {
	return names{strings: map[string]string{}, origins: map[origin]*origin{}, mores: map[more]*more{}, likes: map[like]*events.JobSpec{}}
}

func (n *names) once(s string) string {
	if known, ok := n.strings[s]; ok {
		return known
	}
	n.strings[s] = s
	return s
}

// forget drops strings that no new job will have.
func (n *names) forget(list ...string) {
	for _, s := range list {
		delete(n.strings, s)
	}
}

// moreOf returns what a matched job or a sample has in common with others of its request; the zero value for other jobs.
func moreOf(j events.JobSpec) (m more) {
	if j.Against != nil {
		m.against = *j.Against
	}
	m.caches, m.sample, m.iterations, m.recipe = strings.Join(j.Caches, " "), j.Sample, j.Iterations, j.Recipe
	if len(j.Checkouts) > 0 {
		text, err := json.Marshal(j.Checkouts)
		if err == nil { // strings have no other end
			m.checkouts = string(text)
		}
	}
	if j.Chunk != nil {
		m.number, m.of = j.Chunk.Number, j.Chunk.Of
	}
	return m
}

// bury forgets an origin of which no job is left in memory.
func (n *names) bury(o origin) {
	delete(n.origins, o)
	if o.more != nil {
		delete(n.mores, *o.more)
	}
}

// origin returns where a job comes from.
func (n *names) origin(j events.JobSpec) *origin {
	key := origin{artifact: j.Artifact, definitions: j.Definitions, request: j.RequestID}
	if m := moreOf(j); m != (more{}) {
		key.more = n.mores[m]
		if key.more == nil {
			key.more = &m
			n.mores[m] = key.more
		}
	}
	if known, ok := n.origins[key]; ok {
		return known
	}
	key.definitions, key.request = events.Digest(n.once(string(key.definitions))), events.RequestID(n.once(string(key.request)))
	key.artifact.Tag, key.artifact.Suite = events.Tag(n.once(string(key.artifact.Tag))), events.SuiteName(n.once(string(key.artifact.Suite)))
	key.artifact.Kind = events.RequestKind(n.once(string(key.artifact.Kind)))
	n.origins[key] = &key
	return &key
}

// like returns what a job has in common with jobs of other requests.
func (n *names) like(j events.JobSpec) *events.JobSpec {
	key := like{
		lane: j.Part(), kind: j.Kind, backend: j.Backend, profile: j.Profile,
		benchmarks: fmt.Sprintf("%q", j.Benchmarks), measures: fmt.Sprintf("%q", j.Measures), optional: j.Optional, backfill: j.Backfill,
		matched: j.Matched,
	}
	if j.Matched {
		key.requires = fmt.Sprintf("%q", j.Requires)
	}
	if j.Tokens != nil {
		key.tokens = events.Tokens{Min: j.Tokens.Min, Max: j.Tokens.Max} // what it got is of its dispatch
	}
	known, ok := n.likes[key]
	if !ok {
		if j.Tokens != nil {
			j.Tokens = &key.tokens
		}
		j.ID, j.Round, j.Artifact, j.Definitions, j.RequestID = "", 0, events.Artifact{}, "", ""
		j.On, j.Against, j.Caches, j.Sample, j.Iterations = nil, nil, nil, "", 0
		j.Recipe, j.Checkouts, j.Inputs, j.Chunk = "", nil, nil, nil
		known = &j
		n.likes[key] = known
	}
	return known
}

// wanters returns a list with one wanter more.
func (n *names) wanters(list []Wanter, more Wanter) *[]Wanter {
	switch {
	case len(list) > 0:
		longer := append(slices.Clip(list), more)
		return &longer
	case n.alone == nil || (*n.alone)[0] != more:
		n.alone = &[]Wanter{more}
	}
	return n.alone
}

// job returns a job that shares its strings and lists with others.
func (n *names) job(spec events.JobSpec, c *course) *Job {
	return &Job{course: c, ID: spec.ID, Round: spec.Round, of: n.origin(spec), like: n.like(spec)}
}

// checkoutsOf returns the checkouts that were kept as text.
func checkoutsOf(text string) (all []events.Checkout) {
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil // it was made from them
	}
	return all
}
