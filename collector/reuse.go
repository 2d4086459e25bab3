package collector

import (
	"context"
	"fmt"
	"time"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// Runs knows what was done before.
type Runs interface {
	// Same returns the run that did what a job in hand does, and whose outputs are still there; empty for none. counts is false
	// if what the job does stands for no other one either.
	Same(ctx context.Context, job events.JobID, key events.Digest) (from events.JobID, counts bool, err error)
}

// askWithin is how long the core may take to say what was done before. The job runs then: it is only slower.
const askWithin = 10 * time.Second

// Recognised implements Sink.
func (s *sink) Recognised(ctx context.Context, d suite.Definitions, tree events.Digest) (taken bool, err error) {
	a := s.a
	key, ok := d.Key(a.spec, suite.Goes{Inputs: a.spec.Inputs, Tree: tree, Fingerprint: a.c.Environment.Fingerprint, Drivers: runner.Versions()})
	if !ok || a.c.Runs == nil || len(a.done[a.spec.Artifact.Tag]) > 0 {
		return false, nil // a part of it may have been done elsewhere
	}
	asking, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	from, counts, err := a.c.Runs.Same(asking, a.spec.ID, key)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil:
		a.c.Logger.Warn("the core does not say what was done before: the job runs", "job", a.spec.ID, "error", err)
		return false, nil
	case !counts:
		return false, nil
	}
	if a.key = key; from == "" {
		return false, nil
	}
	a.from = from
	s.Log(fmt.Sprintf("run %s did the same with the same inputs: its outputs and results are taken over", from))
	return true, nil
}

// recognised asks, before anything is fetched, whether the job was done before, if all that goes into it is known by then: of
// a build the tree of its commit, of others the outputs that they use.
func (m *Machine) recognised(ctx context.Context, spec events.JobSpec, d suite.Definitions, sink Sink) (taken bool, err error) {
	kind, _ := d.Kind(spec.Kind)
	var tree events.Digest
	switch {
	case !d.Reuses(spec):
		return false, nil
	case kind.Builds():
		tree, err = m.Artifacts.Tree(ctx, artifact.Ref{
			Suite: d.Name, Tag: spec.Artifact.Tag, Target: spec.Target,
			Source: suite.Artifact{Kind: suite.ArtifactGit, Repository: d.Artifact.Repository},
		})
		if artifact.Permanent(err) {
			err = &PermanentError{Kind: events.ErrorArtifact, Err: err}
		}
		if err != nil {
			return false, err
		}
	case d.TakesTree(spec):
		return false, nil
	}
	return sink.Recognised(ctx, d, tree)
}

// recognisedBy asks whether the job was done before with the artifact that was fetched.
func (m *Machine) recognisedBy(ctx context.Context, in fetched, spec events.JobSpec, d suite.Definitions, sink Sink) (taken bool, err error) {
	if kind, _ := d.Kind(spec.Kind); !d.Reuses(spec) || !d.TakesTree(spec) || kind.Builds() {
		return false, nil
	}
	tree, err := artifact.Content(ctx, in.toolchain.Dir)
	if err != nil {
		return false, err
	}
	return sink.Recognised(ctx, d, tree)
}
