package ledger

import "github.com/tachobench/tacho/events"

// names keeps each string once that many jobs have: decoding an event makes all of its strings anew.
type names map[string]string

func (n names) once(s string) string {
	if known, ok := n[s]; ok {
		return known
	}
	n[s] = s
	return s
}

func (n names) all(list []string) []string {
	for i, s := range list {
		list[i] = n.once(s)
	}
	return list
}

// job returns the job with the strings that others have, too.
func (n names) job(j events.JobSpec) events.JobSpec {
	j.Artifact.Suite, j.Artifact.Tag = events.SuiteName(n.once(string(j.Artifact.Suite))), events.Tag(n.once(string(j.Artifact.Tag)))
	j.Artifact.Kind = events.RequestKind(n.once(string(j.Artifact.Kind)))
	j.Kind, j.Target = events.JobKind(n.once(string(j.Kind))), events.Target(n.once(string(j.Target)))
	j.Backend, j.Profile = events.Backend(n.once(string(j.Backend))), events.Profile(n.once(string(j.Profile)))
	j.Definitions, j.RequestID = events.Digest(n.once(string(j.Definitions))), events.RequestID(n.once(string(j.RequestID)))
	j.Benchmarks, j.Measures = n.all(j.Benchmarks), n.all(j.Measures)
	return j
}
