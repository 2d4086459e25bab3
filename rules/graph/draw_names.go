package graph

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tachobench/tacho/events"
)

// Label is what a job measures.
type Label struct {
	Kind    events.JobKind `json:"kind"`
	Target  events.Target  `json:"target"`
	Set     events.Set     `json:"set"`
	Backend events.Backend `json:"backend"`
	Profile events.Profile `json:"profile"`
}

// LabelOf returns the label of a job.
func LabelOf(j events.JobSpec) Label {
	return Label{Kind: j.Kind, Target: j.Target, Set: j.Set, Backend: j.Backend, Profile: j.Profile}
}

// parts returns the label in the order in which it is written.
func (l Label) parts() [5]string {
	return [5]string{string(l.Kind), string(l.Target), strconv.Itoa(int(l.Set)), string(l.Backend), string(l.Profile)}
}

// String returns the whole label: "compile/linux-amd64/0/gc/opt".
func (l Label) String() string {
	parts := l.parts()
	return strings.Join(parts[:], "/")
}

// Short returns the parts of the label that tell it from others of its kind: kind, then target, set, backend and profile where
// they differ.
func (l Label) Short(differ [5]bool) string {
	parts := l.parts()
	short := parts[:1]
	for at := 1; at < len(parts); at++ {
		if differ[at] {
			short = append(short[:len(short):len(short)], parts[at])
		}
	}
	return strings.Join(short, "/")
}

// Names returns short names: kind/target/set/backend/profile without the parts in which the jobs of the kind do not
// differ. Jobs with the same label are told apart by their places in the list.
func Names(jobs []Label) []string {
	first := map[events.JobKind]Label{}
	differ := map[events.JobKind]*[5]bool{}
	for _, j := range jobs {
		f, known := first[j.Kind]
		if !known {
			first[j.Kind], differ[j.Kind] = j, new([5]bool)
			continue
		}
		a, b := f.parts(), j.parts()
		for i := range a {
			differ[j.Kind][i] = differ[j.Kind][i] || a[i] != b[i]
		}
	}
	names := make([]string, len(jobs))
	count := map[Label]int{}
	for i, j := range jobs {
		names[i] = j.Short(*differ[j.Kind])
		count[j]++
	}
	for i, j := range jobs {
		if count[j] > 1 {
			names[i] += fmt.Sprintf(" #%d", i)
		}
	}
	return names
}
