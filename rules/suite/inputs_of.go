package suite

import (
	"slices"

	"github.com/tachobench/tacho/events"
)

// ArtifactOf returns, of the inputs of a job, the one that is its artifact: the output that its kind needs first.
func (d Definitions) ArtifactOf(job events.JobSpec) (events.Input, bool) {
	kind, _ := d.Kind(job.Kind)
	for _, n := range kind.Needs {
		if n.Output == "" {
			continue
		}
		for _, in := range job.Inputs {
			if in.Kind == n.Kind && in.Name == n.Output {
				return in, true
			}
		}
		break
	}
	return events.Input{}, false
}

// InputsOf returns the inputs of a job that its steps can name. What is its artifact is one of them.
func (d Definitions) InputsOf(job events.JobSpec) []events.Input {
	kind, _ := d.Kind(job.Kind)
	var named []events.Input
	for _, in := range job.Inputs {
		if kind.namesInput(in) {
			named = append(named, in)
		}
	}
	return named
}

// namesInput reports whether a step of the kind names an input. What none names is not fetched.
func (k Kind) namesInput(in events.Input) bool {
	for _, argv := range slices.Concat(k.Steps, k.Always) {
		for _, argument := range argv {
			for _, m := range inputField.FindAllStringSubmatch(argument, -1) {
				if m[1] == in.Name || m[1] == string(in.Kind)+"/"+in.Name {
					return true
				}
			}
		}
	}
	return false
}
