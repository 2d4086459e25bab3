package collector

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// kitchen is a suite whose program is prepared with a cache, on a host with several places.
type kitchen struct {
	*testing.T
	suite.Definitions
	dir, store string
	sources    map[string]string
}

// newKitchen makes the artifacts v1, v2 and v3. Each preparation notes what it finds in the cache and adds a file.
func newKitchen(t *testing.T) *kitchen {
	d, dir := sleepy(t, "file", "")
	k := &kitchen{T: t, Definitions: d, dir: dir, store: t.TempDir(), sources: map[string]string{"sleepy": dir}}
	k.Kinds[0].Lanes, k.Kinds[0].Caches = suite.LanesAny, []string{"cc/{parent}"}
	b := &k.Benchmarks[0]
	b.Prepare = []string{"sh", "-c", `n=$(basename {artifact}); echo $n: $(ls {cache:cc/{parent}}) >>` + dir + `/found; touch {cache:cc/{parent}}/$n`}
	b.Command, b.Iterations = []string{"/bin/sh", "{artifact}/run"}, suite.Iterations{Number: 1}
	for _, tag := range []string{"v1", "v2", "v3"} {
		k.script(tag, "true")
	}
	return k
}

// script sets what is measured of an artifact.
func (k *kitchen) script(tag, text string) {
	k.Helper()
	err := os.MkdirAll(filepath.Join(k.dir, tag), 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(k.dir, tag, "run"), []byte(text), 0o644)
	}
	if err != nil {
		k.Fatal(err)
	}
}

// place returns one of the places of the host. All have the same cache directory.
func (k *kitchen) place() *Machine {
	k.Helper()
	m := machine(k.T, k.sources)
	store, err := artifact.Open(artifact.Config{Dir: k.store, MaxBytes: 1 << 20})
	if err != nil {
		k.Fatal(err)
	}
	m.Artifacts = store
	return m
}

// job returns a matched job that has these caches.
func (k *kitchen) job(tag events.Tag, caches ...string) events.JobSpec {
	spec := jobOf(k.Definitions, tag)
	spec.Matched, spec.Caches = true, caches
	return spec
}

// cook measures a job, and returns its log.
func (k *kitchen) cook(m *Machine, spec events.JobSpec) string {
	k.Helper()
	got := &notes{}
	if err := m.Run(k.Context(), spec, k.Definitions, none, got); err != nil || len(got.measured) != 1 {
		k.Fatalf("%s is not measured: %v, %q, %q", spec.Artifact.Tag, err, got.failed, got.log)
	}
	return strings.Join(got.log, "\n")
}

func (k *kitchen) found(want ...string) {
	k.Helper()
	text, err := os.ReadFile(filepath.Join(k.dir, "found"))
	if err != nil {
		k.Fatal(err)
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(string(text)), "\n")); diff != "" {
		k.Errorf("found (-want +got):\n%s", diff)
	}
}

func TestAWarmJobFindsWhatTheFirstOneLeft(t *testing.T) {
	k := newKitchen(t)
	k.cook(k.place(), k.job("v1", "cc/v0"))
	k.cook(k.place(), k.job("v2", "cc/v0"))
	k.cook(k.place(), k.job("v3", "cc/other"))
	if said := k.cook(k.place(), k.job("v3")); !strings.Contains(said, "the job has no cache cc/{parent}") {
		t.Errorf("a job without a parent says %s", said)
	}
	k.found("v1:", "v2: v1", "v3:", "v3:")
}

func TestOfTwoJobsAtOnceOneFindsAnEmptyCache(t *testing.T) {
	k := newKitchen(t)
	gate := filepath.Join(k.dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	k.script("v2", "read line <"+gate)
	k.cook(k.place(), k.job("v1", "cc/v0"))
	ended := make(chan error, 1)
	first := k.place()
	go func() { ended <- first.Run(t.Context(), k.job("v2", "cc/v0"), k.Definitions, none, &notes{}) }()
	// This blocks until the first job is measured.
	w, err := os.OpenFile(gate, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if said := k.cook(k.place(), k.job("v3", "cc/v0")); !strings.Contains(said, "another job uses the cache cc/v0") {
		t.Errorf("the second job says %s", said)
	}
	if err := errors.Join(w.Close(), <-ended); err != nil {
		t.Fatal(err)
	}
	k.cook(k.place(), k.job("v1", "cc/v0"))
	k.found("v1:", "v2: v1", "v3:", "v1: v1 v2")
}

// Definitions and jobs come from the log. What they name must not lead out of the caches.
func TestNoNameLeadsOutOfTheCaches(t *testing.T) {
	k := newKitchen(t)
	for _, name := range []string{"../../escaped", "/etc", "a/../../b", ""} {
		got := &notes{}
		if err := k.place().Run(t.Context(), k.job("v1", name), k.Definitions, none, got); err != nil {
			t.Fatal(err)
		}
		if len(got.measured) > 0 || len(got.failed) != 1 || !strings.Contains(got.failed[0], "joined by '/'") {
			t.Errorf("cache %q: measured %d, failed %q", name, len(got.measured), got.failed)
		}
	}
}

func TestACollectorOfAPoolTellsWhatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onStage(t, func(s *stage) {
			gone := [][]string{{"git/linux"}, {"cc/v1", "cc/v2"}, nil}
			evicted := func() ([]string, error) {
				if len(gone) == 0 {
					return nil, errors.New("the disk is gone")
				}
				now := gone[0]
				gone = gone[1:]
				return now, nil
			}
			p := s.start("c0", pool0, "i1", &slow{}, func(c *Config) { c.Evicted = evicted })
			for i, id := range []events.JobID{"j1", "j2", "j3"} {
				s.dispatch(pool0, uint64(i+1), s.matched(id), 0, 0)
				s.finished(pool0, id)
			}
			online := told[events.CollectorOnline](s, events.CollectorSubject("c0"))
			if len(online) != 1 || !slices.Equal(online[0].Evicted, []string{"git/linux"}) {
				t.Errorf("it came as %+v", online)
			}
			var said [][]string
			for _, f := range told[events.JobFinished](s, events.WorkSubject(pool0)) {
				said = append(said, f.Evicted)
			}
			if diff := cmp.Diff([][]string{{"cc/v1", "cc/v2"}, nil, nil}, said); diff != "" {
				t.Errorf("jobs ended with (-want +got):\n%s", diff)
			}
			if err := p.end(); err != nil {
				t.Error(err)
			}
		})
	})
	here := New(Config{Name: "c", Lane: events.Lane{Target: "here"}, Evicted: func() ([]string, error) { return []string{"git/linux"}, nil }})
	if f := here.online().(events.CollectorOnline); f.Evicted != nil || here.evicted() != nil {
		t.Errorf("without a pool it tells %q", f.Evicted)
	}
}
