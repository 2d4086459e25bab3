package collector

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// maxOutputFiles bounds the files, directories and links of one output.
const maxOutputFiles = 100_000

var errNoStore = errors.New("this collector has no store of outputs: update it, and the core")

// built returns an input of a job as the store of artifacts wants it.
func (m *Machine) built(spec events.JobSpec, in events.Input) *artifact.Built {
	return &artifact.Built{Digest: in.Digest, Bytes: in.Bytes, Get: func(ctx context.Context, to io.Writer) error {
		if m.Blobs == nil {
			return &PermanentError{Kind: events.ErrorOutput, Err: errNoStore}
		}
		err := m.Blobs.Get(ctx, in.Lane, in.Output, to)
		if errors.Is(err, blob.ErrMissing) || errors.Is(err, blob.ErrDamaged) {
			return &PermanentError{Kind: events.ErrorOutput, Err: fmt.Errorf("output %s of job %s, which job %s uses: %w", in.Name, in.JobID, spec.ID, err)}
		}
		return err
	}}
}

// permanently marks the errors of the store of artifacts that would come again.
func permanently(err error) error {
	var marked *PermanentError
	if artifact.Permanent(err) && !errors.As(err, &marked) {
		return &PermanentError{Kind: events.ErrorArtifact, Err: err}
	}
	return err
}

// checkOut returns what puts the tree of a commit into a directory.
func (m *Machine) checkOut(spec events.JobSpec, d suite.Definitions, sink Sink) func(context.Context, events.Checkout, string) error {
	return func(ctx context.Context, c events.Checkout, dir string) error {
		commit, err := m.Artifacts.CheckOut(ctx, artifact.Ref{
			Suite: d.Name, Tag: events.Tag(c.Revision), Target: spec.Target,
			Source: suite.Artifact{Kind: suite.ArtifactGit, Repository: c.Repository},
		}, dir)
		if err != nil {
			return permanently(err)
		}
		sink.Log(fmt.Sprintf("checked out %s at %s in %s", c.Repository, commit, c.Path))
		return nil
	}
}

// input returns what puts an input of a job into a directory.
func (m *Machine) input(spec events.JobSpec, d suite.Definitions, sink Sink) func(context.Context, events.Input, string) error {
	return func(ctx context.Context, in events.Input, dir string) error {
		sink.Log(fmt.Sprintf("fetching output %s of job %s, %d bytes", in.Name, in.JobID, in.Bytes))
		return permanently(m.Artifacts.Unpack(ctx, *m.built(spec, in), dir))
	}
}

// storage returns where a job puts what it yields.
func (m *Machine) storage(spec events.JobSpec, sink Sink) runner.Storage {
	return runner.Storage{MaxBytes: blob.MaxBytes, MaxFiles: maxOutputFiles, Store: func(ctx context.Context, o events.Output, upload bool, content io.Reader) error {
		if m.Blobs == nil {
			return fmt.Errorf("%w: %w", runner.ErrOutput, errNoStore)
		}
		put := m.Blobs.Put
		if upload {
			put = func(ctx context.Context, lane events.Lane, job events.JobID, o events.Output, content io.Reader) error {
				return blob.Upload(ctx, m.Blobs, lane, job, o, content)
			}
		}
		err := put(ctx, m.Lane, spec.ID, o, content)
		switch {
		case errors.Is(err, blob.ErrDamaged):
			return fmt.Errorf("%w: its files changed while they were stored: %w", runner.ErrOutput, err)
		case err != nil:
			return err
		}
		return sink.Stored(ctx, o, upload)
	}}
}

// sides parts the inputs of a pair: of two with the same name the first is the job's own, the second its parent's.
func sides(inputs []events.Input) (own, parent []events.Input) {
	type output struct {
		kind events.JobKind
		name string
	}
	seen := map[output]bool{}
	for _, in := range inputs {
		if id := (output{in.Kind, in.Name}); seen[id] {
			parent = append(parent, in)
		} else {
			seen[id], own = true, append(own, in)
		}
	}
	return own, parent
}

// enough turns a command's wish for another try into a failure when its kind allows no more. Every execution counts that
// was not lost, this one too.
func (a *attempt) enough(d suite.Definitions, err error) error {
	var again *runner.RetryError
	kind, _ := d.Kind(a.spec.Kind)
	if tries := a.number - a.lost; kind.Retries > 0 && tries > kind.Retries && errors.As(err, &again) {
		return &PermanentError{Kind: events.ErrorCommand, Err: fmt.Errorf("%w; this was try %d, and kind %s allows %d more than the first (retries)", again, tries, kind.Name, kind.Retries)}
	}
	return err
}
