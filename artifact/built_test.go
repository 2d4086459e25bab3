package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// builtRef names an artifact that is an output with this content. fetched counts its transfers.
func builtRef(tag events.Tag, content []byte, fetched *int) Ref {
	sum := sha256.Sum256(content)
	return Ref{
		Suite: "p", Source: suite.Artifact{Kind: suite.ArtifactBuilt, Repository: "r"}, Tag: tag, Target: "any",
		Built: &Built{Digest: events.Digest(hex.EncodeToString(sum[:])), Bytes: int64(len(content)), Get: func(_ context.Context, to io.Writer) error {
			*fetched++
			_, err := to.Write(content)
			return err
		}},
	}
}

func TestEqualOutputsAreOneDirectory(t *testing.T) {
	s := open(t, Config{})
	content := tarball(t, file{name: "dist/bin/program", content: "#!/bin/sh\necho built\n"}, file{name: "dist/share/x", content: "x"})
	fetched := 0
	one := builtRef("v1", content, &fetched)
	one.Source.Probe = []string{"bin/program"}
	dir, version, _ := acquire(t, s, one)
	if version != "built" {
		t.Errorf("version %q", version)
	}
	text, err := os.ReadFile(filepath.Join(dir, "share", "x"))
	if err != nil || string(text) != "x" {
		t.Errorf("%q, %v", text, err)
	}
	again, _, _ := acquire(t, s, builtRef("v2", content, &fetched))
	if again != dir || fetched != 1 {
		t.Errorf("%s and %s, fetched %d times", dir, again, fetched)
	}
	other, _, _ := acquire(t, s, builtRef("v2", tarball(t, file{name: "bin/program", content: "other"}), &fetched))
	if other == dir || fetched != 2 {
		t.Errorf("%s is %s, fetched %d times", other, dir, fetched)
	}
	if left := leftovers(t, s); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestBadOutputsAreNoArtifacts(t *testing.T) {
	gone := errors.New("it is not in the store")
	for _, test := range []struct {
		name, want string
		content    []byte
		get        func(content []byte, to io.Writer) error
	}{
		{"a link out", "links to", tarball(t, file{name: "a", link: "../../x"}), nil},
		{"a step up", "leads out of it", tarball(t, file{name: "a/../../b", content: "x"}), nil},
		{"no tar file", "the archive is damaged", []byte(strings.Repeat("x", 2048)), nil},
		{"half of it", gone.Error(), tarball(t, file{name: "a", content: strings.Repeat("x", 4096)}), func(content []byte, to io.Writer) error {
			_, err := to.Write(content[:2048])
			return errors.Join(gone, err)
		}},
		{"all of it, and then it is damaged", gone.Error(), tarball(t, file{name: "a", content: "x"}), func(content []byte, to io.Writer) error {
			_, err := to.Write(content)
			return errors.Join(gone, err)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := open(t, Config{})
			ref := builtRef("v1", test.content, new(int))
			if test.get != nil {
				ref.Built.Get = func(_ context.Context, to io.Writer) error { return test.get(test.content, to) }
			}
			_, _, _, err := s.Acquire(t.Context(), ref)
			if err == nil || !strings.Contains(err.Error(), test.want) || Permanent(err) != (test.get == nil) {
				t.Errorf("got %v", err)
			}
			dir := filepath.Join(t.TempDir(), "in")
			if err := s.Unpack(t.Context(), *ref.Built, dir); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("unpacked: %v", err)
			}
			if left := leftovers(t, s); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
	ref := builtRef("v1", nil, new(int))
	ref.Built = nil
	if _, _, _, err := open(t, Config{}).Acquire(t.Context(), ref); !Permanent(err) || !strings.Contains(err.Error(), "docs/builds.md") {
		t.Errorf("without an output: %v", err)
	}
}

func TestACommitIsCheckedOut(t *testing.T) {
	repository := t.TempDir()
	gitIn(t, repository, "init", "--quiet", "-b", "main")
	if err := os.Symlink("make.sh", filepath.Join(repository, "link")); err != nil {
		t.Fatal(err)
	}
	first := commit(t, repository, "first")
	commit(t, repository, "second")
	s := open(t, Config{})
	ref := func(tag string) Ref {
		return Ref{Suite: "p", Source: suite.Artifact{Kind: suite.ArtifactGit, Repository: repository}, Tag: events.Tag(tag), Target: "any"}
	}
	for tag, want := range map[string]string{first: "first", "main": "second"} {
		// The second time a killed git has left its index.
		for range 2 {
			dir := t.TempDir()
			got, err := s.CheckOut(t.Context(), ref(tag), dir)
			if err != nil || tag == first && got != first {
				t.Fatalf("%s, %v", got, err)
			}
			if diff := cmp.Diff([]string{"link", "make.sh"}, listed(t, dir)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			text, err := os.ReadFile(filepath.Join(dir, "link"))
			if err != nil || string(text) != want {
				t.Errorf("%q, %v", text, err)
			}
			indexes, err := filepath.Glob(filepath.Join(s.Dir, "entries", "*", "root"))
			if err != nil || len(indexes) != 1 {
				t.Fatal(indexes, err)
			}
			script(t, filepath.Join(indexes[0], "index"), "half an index")
		}
	}
	if _, err := s.CheckOut(t.Context(), ref(strings.Repeat("0", 40)), t.TempDir()); !isNotThere(err) {
		t.Errorf("no such commit: %v", err)
	}
	ref404 := ref("main")
	ref404.Source.Repository = filepath.Join(repository, "none")
	if _, err := s.CheckOut(t.Context(), ref404, t.TempDir()); !isNotThere(err) {
		t.Errorf("no such repository: %v", err)
	}
	built := ref("main")
	built.Source.Kind = suite.ArtifactBuilt
	for tag, want := range map[string]bool{"main": true, "never": false} {
		built.Tag = events.Tag(tag)
		if ready, err := s.Ready(t.Context(), built); ready != want || err != nil {
			t.Errorf("%s is ready: %v, %v", tag, ready, err)
		}
	}
}

func listed(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
