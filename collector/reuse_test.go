package collector

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
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
			d := build()
			if test.change != nil {
				test.change(&d)
			}
			before := test.past
			c := New(Config{Name: "c1", Instance: "i1", Runs: &before, Environment: events.Environment{Fingerprint: "env"}, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
			spec := events.JobSpec{
				ID: "j1", Kind: d.Kinds[0].Name, Artifact: events.Artifact{Suite: d.Name, Tag: "v1", Kind: events.Master},
				Target: d.Targets[0].Name, Backend: d.Backends[0].Name, Profile: d.Profiles[0].Name, Definitions: d.Digest(),
			}
			a := newAttempt(c, spec, 1, events.JobDequeued{Attempt: 1}, measured{}, 0, "")
			taken, err := a.sink.Recognised(t.Context(), d, "tree")
			end, ended := a.end(t.Context(), nil, err).(job.Finish)
			if !ended || err != nil || taken == test.ran || (end.Key != "") != test.keyed || end.ReusedFrom != test.from || len(before.asked) != test.asked {
				t.Errorf("taken over: %v, %v, %+v, asked %v", taken, err, end, before.asked)
			}
			a.done[spec.Artifact.Tag] = map[events.TestCase]bool{{Benchmark: "b"}: true}
			before.asked = nil
			if taken, err = a.sink.Recognised(t.Context(), d, "tree"); taken || err != nil || len(before.asked) > 0 {
				t.Errorf("a job with results of its own asked: %v, %v", taken, err)
			}
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
	if first != write(func(dir string) error {
		return os.Chtimes(filepath.Join(dir, "bin", "x"), time.Time{}, time.Unix(1, 0))
	}) {
		t.Error("the same files have another content")
	}
	for name, change := range map[string]func(dir string) error{
		"text": func(dir string) error { return os.WriteFile(filepath.Join(dir, "bin", "x"), []byte("0ne"), 0o600) },
		"mode": func(dir string) error { return os.Chmod(filepath.Join(dir, "bin", "x"), 0o700) },
		"name": func(dir string) error {
			return os.Rename(filepath.Join(dir, "bin", "x"), filepath.Join(dir, "bin", "z"))
		},
		"missing": func(dir string) error { return os.Remove(filepath.Join(dir, "lib", "y")) },
		"more":    func(dir string) error { return os.Mkdir(filepath.Join(dir, "more"), 0o750) },
	} {
		if write(change) == first {
			t.Errorf("%s changed, and the content did not", name)
		}
	}
}
