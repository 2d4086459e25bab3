package runner_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// shelf keeps what jobs yield.
type shelf struct {
	t       *testing.T
	outputs []events.Output
	uploads []events.Output
	content map[string][]byte
	// onStore is called before each; its error is what storing returns.
	onStore func(name string) error
}

func (s *shelf) store(_ context.Context, o events.Output, upload bool, content io.Reader) error {
	if s.onStore != nil {
		if err := s.onStore(o.Name); err != nil {
			return err
		}
	}
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != string(o.Digest) || int64(len(data)) != o.Bytes {
		s.t.Errorf("%+v is %d bytes", o, len(data))
	}
	if upload {
		s.uploads = append(s.uploads, o)
	} else {
		s.outputs = append(s.outputs, o)
	}
	if s.content == nil {
		s.content = map[string][]byte{}
	}
	s.content[o.Name] = data
	return nil
}

// list returns what a tar file holds, a line each.
func (s *shelf) list(name string) string {
	var lines strings.Builder
	for in := tar.NewReader(bytes.NewReader(s.content[name])); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return lines.String()
		}
		if err != nil {
			s.t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || !h.ModTime.Equal(time.Unix(0, 0)) {
			s.t.Errorf("%+v: %v", h, err)
		}
		fmt.Fprintf(&lines, "%q %o %s%s\n", h.Name, h.Mode, h.Linkname, data)
	}
}

// buildOf returns a job that builds with shell scripts, and where its outputs go. Outputs are written NAME=GLOB.
func buildOf(t *testing.T, outputs string, scripts ...string) (runner.Steps, *shelf) {
	t.Helper()
	job := stepsOf(t, suite.Success{RetryExit: []int{75}}, scripts...)
	s := &shelf{t: t}
	job.Plan.Builds, job.Tokens = true, 1
	job.Plan.Outputs = pathsOf(t, outputs)
	job.Storage = runner.Storage{MaxBytes: 64 << 20, MaxFiles: 1000, Store: s.store}
	return job, s
}

func pathsOf(t *testing.T, all string) []suite.StoredPaths {
	t.Helper()
	var stored []suite.StoredPaths
	for _, one := range strings.Fields(all) {
		name, glob, _ := strings.Cut(one, "=")
		paths, err := suite.ParsePaths([]string{glob})
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, suite.StoredPaths{Name: name, Paths: paths})
	}
	return stored
}

func run(t *testing.T, job runner.Steps) (string, *recorder) {
	t.Helper()
	sink := &recorder{}
	return outcome(t, newRunner().RunSteps(t.Context(), job, sink)), sink
}

const plenty = `umask 077; mkdir -p dist/lib dist/none; echo hi > dist/b; echo '#!/bin/sh' > dist/run; chmod 4711 dist/run
ln -s lib/../b dist/link; echo x > "dist/lib/a
b"; printf l > "dist/lib/$(printf 'caf\303\251')"; printf r > "dist/lib/$(printf '\377')"; ln -s nowhere dist/dangling; echo no > other`

func TestABuildYieldsOutputs(t *testing.T) {
	job, shelf := buildOf(t, "program=dist/**", plenty)
	if got, sink := run(t, job); got != "success" {
		t.Fatal(got, sink.log)
	}
	want := `"dist/b" 644 hi

"dist/dangling" 777 nowhere
"dist/lib/" 755 
"dist/lib/a\nb" 644 x

"dist/lib/café" 644 l
"dist/lib/\xff" 644 r
"dist/link" 777 lib/../b
"dist/none/" 755 
"dist/run" 755 #!/bin/sh

`
	if diff := cmp.Diff(want, shelf.list("program")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// It is the same tree on every machine, and for ever.
	if got := shelf.outputs[0].Digest; got != "3f54771162e3bc76ac4f4c18fc7e9a4c3114db8b2c62628d15119c0ce4836131" {
		t.Errorf("the digest is %s", got)
	}
}

func TestEqualTreesHaveEqualDigests(t *testing.T) {
	var digests []events.Digest
	for _, order := range []string{"a b c", "c a b"} {
		job, shelf := buildOf(t, "p=d", `mkdir d; for f in `+order+`; do echo $f > d/$f; touch -d '@'$RANDOM d/$f; done; chmod 600 d/a; chmod 666 d/b; ln d/c d/hard`)
		if got, _ := run(t, job); got != "success" {
			t.Fatal(got)
		}
		digests = append(digests, shelf.outputs[0].Digest)
	}
	if digests[0] != digests[1] {
		t.Errorf("%v", digests)
	}
}

func TestWhatCannotBeAnOutputIsRefused(t *testing.T) {
	for _, test := range []struct{ name, script, want string }{
		{"nothing matches", "true", "output: output p: no file matches its paths"},
		{"empty directories", "mkdir -p d/e", "output: output p: no file matches its paths"},
		{"a link out", "mkdir d; ln -s ../../x d/l", `output: output p: the link "d/l" leads to "../../x", out of the directory of the steps`},
		{"an absolute link", "mkdir d; ln -s /etc/passwd d/l", `output: output p: the link "d/l" leads to "/etc/passwd", out of the directory of the steps`},
		{"a link out by another", "mkdir d; ln -s ../a d/l; ln -s /etc a", `output: output p: the link "d/l" leads to "../a", out of the directory of the steps: `},
		{"a pipe", "mkdir d; mkfifo d/f", `output: output p: "d/f" is neither a file, a directory nor a link`},
		{"a socket", `mkdir d; perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => "d/s", Listen => 1) or die'`, `output: output p: "d/s" is neither a file, a directory nor a link`},
		{"too large", "mkdir d; truncate -s 1T d/f", "output: output p: it has more than 64 MiB"},
		{"too many", "mkdir d; cd d; seq 1001 | xargs touch", "output: output p: it has more than 1000 files"},
		{"another directory", "mkdir ../moved; mv ../src ../gone; ln -s /etc ../src", "output: output p: the directory of the steps is no directory any more: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			job, shelf := buildOf(t, "p=d/**", test.script)
			if got, _ := run(t, job); !strings.HasPrefix(got, test.want) || len(shelf.outputs) > 0 {
				t.Errorf("%s, stored %v", got, shelf.outputs)
			}
		})
	}
	t.Run("a device", func(t *testing.T) {
		job, _ := buildOf(t, "p=d/**", "mkdir d; mknod d/null c 1 3 || echo > d/refused")
		want := `output: output p: "d/null" is neither a file, a directory nor a link`
		if os.Getuid() != 0 {
			want = "success"
		}
		if got, _ := run(t, job); got != want {
			t.Error(got)
		}
	})
}

func TestAnOutputIsStoredAfterItsStep(t *testing.T) {
	job, shelf := buildOf(t, "lib=lib program=dist", "echo 1 > lib", "test -f ../stored-lib", "echo 2 > dist; echo changed > lib", "exit 3")
	job.Plan.Outputs[0].After = 1
	shelf.onStore = func(name string) error {
		return os.WriteFile(filepath.Join(job.Slot, "stored-"+name), nil, 0o600)
	}
	if got, _ := run(t, job); !strings.HasPrefix(got, "command: step 4 of 4: ") {
		t.Error(got)
	}
	if len(shelf.outputs) != 1 || shelf.list("lib") != "\"lib\" 644 1\n\n" {
		t.Errorf("%v, %s", shelf.outputs, shelf.list("lib"))
	}
}

func TestUploadsAreKeptOfFailuresToo(t *testing.T) {
	job, shelf := buildOf(t, "p=p", "echo p > p; echo no > test.log; exit 3")
	job.Plan.Uploads = pathsOf(t, "log=**/*.log none=none")
	got, sink := run(t, job)
	if !strings.HasPrefix(got, "command: step 1 of 1") || len(shelf.outputs) != 0 || len(shelf.uploads) != 1 || shelf.uploads[0].Name != "log" {
		t.Errorf("%s, %v, %v", got, shelf.outputs, shelf.uploads)
	}
	if !strings.Contains(strings.Join(sink.log, "\n"), "the upload none is not kept: no file matches its paths") {
		t.Errorf("%q", sink.log)
	}
}

func TestAStoreThatFailsIsTriedAgain(t *testing.T) {
	job, shelf := buildOf(t, "p=p", "echo p > p")
	away := errors.New("the store is away")
	shelf.onStore = func(string) error { return away }
	err := newRunner().RunSteps(t.Context(), job, &recorder{})
	var permanent *runner.StepsError
	if !errors.Is(err, away) || errors.As(err, &permanent) {
		t.Errorf("got %v", err)
	}
	shelf.onStore = func(string) error { return fmt.Errorf("%w: never", runner.ErrOutput) }
	if got, _ := run(t, job); got != "output: output p: the output cannot be stored: never" {
		t.Error(got)
	}
	shelf.onStore = func(string) error { return unix.ENOSPC }
	if err := newRunner().RunSteps(t.Context(), job, &recorder{}); !errors.Is(err, runner.ErrTransient) || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("got %v", err)
	}
}

func TestABuildFindsItsTreesAndInputs(t *testing.T) {
	job, _ := buildOf(t, "p=out", "cat main third/q/text {source}/tool {input:lib}/so {input:core/lib}/so > out", "test {tokens} = 3; test ! -d .git")
	job.Plan.Source, job.Tokens = "tool", 3
	job.Source = func(dir string) error {
		return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "tool"), []byte("tool\n"), 0o600))
	}
	job.Trees = []events.Checkout{{Repository: "r", Revision: "1", Path: "."}, {Repository: "q", Revision: "2", Path: "third/q"}}
	job.CheckOut = func(_ context.Context, c events.Checkout, dir string) error {
		return os.WriteFile(filepath.Join(dir, map[string]string{"r": "main", "q": "text"}[c.Repository]), []byte(c.Repository+"\n"), 0o600)
	}
	job.Inputs = []events.Input{{Output: events.Output{Name: "lib"}, JobID: "j7", Kind: "core"}}
	job.Fetch = func(_ context.Context, in events.Input, dir string) error {
		return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "so"), []byte(in.JobID+"\n"), 0o600))
	}
	if got, _ := run(t, job); got != "success" {
		t.Error(got)
	}
	text, err := os.ReadFile(filepath.Join(job.Slot, "src", "out"))
	if err != nil || string(text) != "r\nq\ntool\nj7\nj7\n" {
		t.Errorf("%q, %v", text, err)
	}
	again := job
	again.Inputs = append(again.Inputs, again.Inputs[0])
	if got, _ := run(t, again); got != "prepare: step 1 of 2: {input:lib} is the output of two jobs: j7 and j7" {
		t.Error(got)
	}
	for path, want := range map[string]string{
		"main": `prepare: the checkout "main": `, ".": `prepare: the checkout "." would lie over files of another tree`, "out/side": `prepare: the checkout "out/side": `,
	} {
		again := job
		again.CheckOut = func(_ context.Context, _ events.Checkout, dir string) error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "main"), nil, 0o600), os.Symlink("/tmp", filepath.Join(dir, "out")))
		}
		again.Trees = []events.Checkout{job.Trees[0], {Repository: "q", Revision: "2", Path: path}}
		if got, _ := run(t, again); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", path, got)
		}
	}
	away := errors.New("the repository is away")
	job.CheckOut = func(context.Context, events.Checkout, string) error { return away }
	if err := newRunner().RunSteps(t.Context(), job, &recorder{}); !errors.Is(err, away) {
		t.Error(err)
	}
}

func TestNothingOfAStepGoesOn(t *testing.T) {
	job, _ := buildOf(t, "p=p", `setsid sh -c 'while :; do echo x >> ../beat; sleep 0.01; done' & (sleep 60 &) ; perl -e 'setpgrp(0, 0)'; while ! test -s ../beat; do :; done; echo p > p`, "cp ../beat ../before; cmp ../beat ../before")
	if got, _ := run(t, job); got != "success" {
		t.Error(got)
	}
	hangs, _ := buildOf(t, "p=p", "sleep 600")
	hangs.Plan.Timeout = 50 * time.Millisecond
	if got, _ := run(t, hangs); !strings.HasPrefix(got, "timeout: step 1 of 1") {
		t.Error(got)
	}
}
