package collector

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// past answers what was done before.
type past struct {
	from   events.JobID
	counts bool
	err    error
	asked  []events.Digest
}

// Same implements Runs.
func (p *past) Same(_ context.Context, _ events.JobID, key events.Digest) (events.JobID, bool, error) {
	p.asked = append(p.asked, key)
	return p.from, p.counts, p.err
}

// asking is a Bench that asks, and measures nothing.
type asking struct{ ran bool }

// Run implements Bench.
func (b *asking) Run(ctx context.Context, spec events.JobSpec, d suite.Definitions, _ func(events.TestCase) bool, sink Sink) error {
	taken, err := sink.Recognised(ctx, d, "tree")
	b.ran = !taken
	return err
}

func TestACollectorTakesOverWhatWasDone(t *testing.T) {
	build := func() suite.Definitions {
		d := pairSuite()
		d.Version, d.Artifact.Kind = 2, suite.ArtifactBuilt
		d.Kinds[0].Does, d.Kinds[0].Steps, d.Kinds[0].Lanes = suite.DoesBuild, [][]string{{"make"}}, ""
		d.Sources.Revision = "rev"
		return d
	}
	for name, test := range map[string]struct {
		past       past
		change     func(d *suite.Definitions)
		ran, keyed bool
		from       events.JobID
		asked      int
	}{
		"it was done":              {past{from: "j0", counts: true}, nil, false, true, "j0", 1},
		"it was not done":          {past{counts: true}, nil, true, true, "", 1},
		"it counts for nothing":    {past{from: "j0"}, nil, true, false, "", 1},
		"the core does not answer": {past{from: "j0", counts: true, err: context.DeadlineExceeded}, nil, true, false, "", 1},
		"never":                    {past{from: "j0", counts: true}, func(d *suite.Definitions) { d.Kinds[0].Reuse = suite.ReuseNever }, true, false, "", 0},
		"version 1":                {past{from: "j0", counts: true}, func(d *suite.Definitions) { d.Version = 1 }, true, false, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				d := build()
				if test.change != nil {
					test.change(&d)
				}
				s.tell(events.DefinitionsPublished{Suite: d.Name, Digest: d.Digest(), Content: d.Canonical()})
				spec := s.matched("j1")
				spec.Matched, spec.Requires, spec.On, spec.Against = false, nil, nil, nil
				spec.Kind, spec.Definitions, spec.Artifact.Suite = d.Kinds[0].Name, d.Digest(), d.Name
				lane := spec.Part()
				s.tell(events.CollectorRegistered{Name: "c1", Target: lane.Target, Set: lane.Set}, events.CollectorActivated{Name: "c1"})
				s.tell(events.LaneAssigned{Lane: lane, Name: "c1"})
				bench := &asking{}
				before := test.past
				p := s.start("c1", lane, "i1", bench, func(c *Config) { c.Runs = &before })
				s.dispatch(lane, 1, spec, 0, 0)
				end := s.finished(lane, spec.ID)
				if end.Outcome != events.Success || (end.Key != "") != test.keyed || end.ReusedFrom != test.from || bench.ran != test.ran || len(before.asked) != test.asked {
					t.Errorf("%+v, it ran: %v, asked %v", end, bench.ran, before.asked)
				}
				if err := p.end(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// The content of an artifact is that of its files, wherever and whenever they were written.
func TestTheContentOfADirectory(t *testing.T) {
	write := func(change func(dir string) error) events.Digest {
		dir := t.TempDir()
		for name, text := range map[string]string{"bin/x": "one", "lib/y": "two", ".git/HEAD": dir} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("x", filepath.Join(dir, "bin", "link")); err != nil {
			t.Fatal(err)
		}
		if change != nil {
			if err := change(dir); err != nil {
				t.Fatal(err)
			}
		}
		digest, err := artifact.Content(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	first := write(nil)
	if first != write(func(dir string) error { return os.Chtimes(filepath.Join(dir, "bin", "x"), time.Time{}, time.Unix(1, 0)) }) {
		t.Error("the same files have another content")
	}
	for name, change := range map[string]func(dir string) error{
		"text":    func(dir string) error { return os.WriteFile(filepath.Join(dir, "bin", "x"), []byte("0ne"), 0o600) },
		"mode":    func(dir string) error { return os.Chmod(filepath.Join(dir, "bin", "x"), 0o700) },
		"name":    func(dir string) error { return os.Rename(filepath.Join(dir, "bin", "x"), filepath.Join(dir, "bin", "z")) },
		"missing": func(dir string) error { return os.Remove(filepath.Join(dir, "lib", "y")) },
		"more":    func(dir string) error { return os.Mkdir(filepath.Join(dir, "more"), 0o750) },
	} {
		if write(change) == first {
			t.Errorf("%s changed, and the content did not", name)
		}
	}
}
