package runner_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tachobench/tacho/collector/runner"
	"github.com/tachobench/tacho/events"
)

// naps makes a Makefile of eight recipes that note when they begin and end.
const naps = `cat > Makefile <<'END'
all: a b c d e f g h
a b c d e f g h: ; @echo + >> $(LOG); sleep 0.3; echo - >> $(LOG)
END
`

// atOnce returns how many naps of a step ran at once at most.
func atOnce(t *testing.T, job runner.Steps, log string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(job.Slot, "src", log))
	if err != nil {
		t.Fatal(err)
	}
	now, most := 0, 0
	for line := range strings.Lines(string(text)) {
		if now--; line == "+\n" {
			now += 2
		}
		most = max(most, now)
	}
	return most
}

// hasTokens checks that the naps of a step were as many at once as there are tokens.
func hasTokens(t *testing.T, job runner.Steps, log string, want int) {
	t.Helper()
	if got := atOnce(t, job, log); got != want {
		t.Errorf("%s: %d at once, with %d tokens", log, got, want)
	}
}

func TestMakeUsesTheTokensOfABuild(t *testing.T) {
	for _, tokens := range []int{1, 4} {
		job, _ := buildOf(t, "p=log", naps+"make LOG=log")
		job.Tokens = tokens
		got, sink := run(t, job)
		if got != "success" || sink.jobserver != (events.JobserverCount{}) || strings.Contains(strings.Join(sink.log, ""), "warning") {
			t.Errorf("%s, %+v, %q", got, sink.jobserver, sink.log)
		}
		hasTokens(t, job, "log", tokens)
	}
}

// Several programs of one step share its tokens.
func TestTwoMakesShareTheTokens(t *testing.T) {
	job, _ := buildOf(t, "p=log", naps+"make -f - <<'END'\nall: x y\nx y: ; +@$(MAKE) --no-print-directory LOG=log\nEND\n")
	job.Tokens = 3
	if got, _ := run(t, job); got != "success" {
		t.Error(got)
	}
	hasTokens(t, job, "log", 3)
}

func TestTheNextCommandHasAllTokens(t *testing.T) {
	for _, test := range []struct {
		name, script string
		want         func(events.JobserverCount) bool
	}{
		{"make is killed", "make LOG=killed & until grep -q + killed; do :; done; kill -9 $!; true", nil},
		{
			"make is ended", "make LOG=ended & until grep -q + ended; do :; done; kill -TERM $!; wait $!; true",
			func(c events.JobserverCount) bool { return c == events.JobserverCount{} },
		},
		{
			"a child gives more than it took", "printf xyz >&4",
			func(c events.JobserverCount) bool { return c == events.JobserverCount{Surplus: 3} },
		},
		{
			"a child gives more than a pipe holds", "timeout 0.2 cat /dev/zero >&4; true",
			func(c events.JobserverCount) bool { return c.Missing == 0 && c.Surplus >= 4096-3 },
		},
		{
			"a child keeps what it took", "dd bs=1 count=2 <&3 >taken",
			func(c events.JobserverCount) bool { return c == events.JobserverCount{Missing: 2} },
		},
		{
			"a child closes it", "exec 3<&- 4>&-",
			func(c events.JobserverCount) bool { return c == events.JobserverCount{} },
		},
		{
			"a child does not wait for it", `perl -e 'use Fcntl; open(my $f, "<&=3"); fcntl($f, F_SETFL, O_NONBLOCK) or die'`,
			func(c events.JobserverCount) bool { return c == events.JobserverCount{} },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			job, _ := buildOf(t, "p=log", naps+test.script, "make LOG=log")
			job.Tokens = 4
			got, sink := run(t, job)
			if got != "success" || test.want != nil && !test.want(sink.jobserver) {
				t.Errorf("%s, %+v, %q", got, sink.jobserver, sink.log)
			}
			hasTokens(t, job, "log", 4)
		})
	}
}

// A build that is stopped leaves nothing to the next one: not its tokens, and not their lack.
func TestTheNextBuildHasAllTokens(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	job, _ := buildOf(t, "p=log", naps+"make LOG=log; touch ../ran; sleep 60")
	job.Tokens = 4
	go func() {
		for ctx.Err() == nil {
			if text, err := os.ReadFile(filepath.Join(job.Slot, "src", "log")); err == nil && len(text) > 4 {
				cancel()
			}
		}
	}()
	if err := newRunner().RunSteps(ctx, job, &recorder{}); ctx.Err() == nil {
		t.Fatal(err)
	}
	next, _ := buildOf(t, "p=log", naps+"make LOG=log")
	next.Slot, next.Tokens = job.Slot, 4
	if got, _ := run(t, next); got != "success" {
		t.Error(got)
	}
	hasTokens(t, next, "log", 4)
}

func TestMakeflagsFromOutsideReachNoStep(t *testing.T) {
	for _, name := range []string{"MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "CARGO_MAKEFLAGS"} {
		t.Setenv(name, "-j64 --jobserver-auth=0,1")
	}
	job, _ := buildOf(t, "p=env", "env > env", naps+"make LOG=log")
	job.Tokens = 2
	if got, _ := run(t, job); got != "success" {
		t.Error(got)
	}
	env, err := os.ReadFile(filepath.Join(job.Slot, "src", "env"))
	if err != nil || strings.Contains(string(env), "-j64") || !strings.Contains(string(env), "MAKEFLAGS= -j2 --jobserver-auth=3,4\n") || strings.Contains(string(env), "fifo:") {
		t.Errorf("%v:\n%s", err, env)
	}
	hasTokens(t, job, "log", 2)
	plain := stepsOf(t, job.Plan.Success, "env > env; test ! -e /proc/self/fd/3")
	if got, _ := run(t, plain); got != "success" {
		t.Error(got)
	}
	env, err = os.ReadFile(filepath.Join(plain.Slot, "src", "env"))
	if err != nil || strings.Contains(string(env), "MAKEFLAGS") {
		t.Errorf("commands without tokens: %v:\n%s", err, env)
	}
}

func TestCargoUsesTheTokensOfABuild(t *testing.T) {
	cargo, err := exec.LookPath("cargo")
	if err != nil {
		t.Fatal(err)
	}
	script := "printf '[workspace]\\nresolver = \"2\"\\nmembers = [\"p*\"]\\n' > Cargo.toml\n" +
		"for i in 1 2 3 4 5 6; do mkdir -p p$i/src; touch p$i/src/lib.rs\n" +
		"printf '[package]\\nname = \"p'$i'\"\\nversion = \"0.1.0\"\\nedition = \"2021\"\\n' > p$i/Cargo.toml\n" +
		`printf 'use std::io::Write; fn note(s: &[u8]) { std::fs::OpenOptions::new().append(true).create(true).open("../log").unwrap().write_all(s).unwrap() }
fn main() { note(b"+\\n"); std::thread::sleep(std::time::Duration::from_millis(400)); note(b"-\\n") }' > p$i/build.rs; done
cargo build -q --offline`
	job, _ := buildOf(t, "p=log", script)
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	job.Tokens = 3
	job.Plan.Env = []string{
		"PATH=" + filepath.Dir(cargo) + ":/usr/local/bin:/usr/bin:/bin", fmt.Sprintf("RUSTUP_HOME=%s/.rustup", home), "CARGO_BUILD_JOBS=8",
	}
	if rustup := os.Getenv("RUSTUP_HOME"); rustup != "" {
		job.Plan.Env[1] = "RUSTUP_HOME=" + rustup
	}
	got, sink := run(t, job)
	if got != "success" || sink.jobserver.Surplus > 0 {
		t.Fatalf("%s, %+v", got, sink.jobserver)
	}
	if most := atOnce(t, job, "log"); most > 3 || most < 2 {
		t.Errorf("%d build scripts ran at once, with 3 tokens", most)
	}
}
