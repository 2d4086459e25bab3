package jobserver

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func open(t testing.TB, tokens int) *Server {
	t.Helper()
	s, err := New(tokens)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Whatever a command takes and writes, the count tells the difference.
func TestTokensAreCounted(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		tokens := rapid.IntRange(1, 64).Draw(r, "tokens")
		s := open(t, tokens)
		held := tokens - 1
		for _, n := range rapid.SliceOfN(rapid.IntRange(-8, 8), 0, 10).Draw(r, "moves") {
			n = max(n, -held)
			var err error
			if n < 0 {
				_, err = s.read.Read(make([]byte, -n))
			} else {
				_, err = s.write.WriteString(strings.Repeat("x", n))
			}
			if err != nil {
				r.Fatal(err)
			}
			held += n
		}
		missing, surplus, err := s.Close()
		if err != nil || missing-surplus != tokens-1-held || missing < 0 || surplus < 0 || missing > 0 && surplus > 0 {
			r.Fatalf("of %d tokens %d are there: %d are missing, %d too many, %v", tokens-1, held, missing, surplus, err)
		}
	})
}

func TestAJobserverHasATokenAtLeast(t *testing.T) {
	t.Parallel()
	for _, tokens := range []int{-1, 0, mostTokens + 1} {
		if _, err := New(tokens); err == nil {
			t.Errorf("%d tokens", tokens)
		}
	}
	s := open(t, mostTokens)
	if missing, surplus, err := s.Close(); missing != 0 || surplus != 0 || err != nil {
		t.Errorf("%d, %d, %v", missing, surplus, err)
	}
	if _, _, err := s.Close(); err == nil {
		t.Error("it is closed twice")
	}
}

// A reader that does not know the protocol's newer form waits for a token, so the pipe must be a blocking one.
func TestChildrenWaitForTokens(t *testing.T) {
	t.Parallel()
	s := open(t, 2)
	for _, f := range s.Files() {
		flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
		if err != nil || flags&unix.O_NONBLOCK != 0 {
			t.Errorf("flags %x, %v", flags, err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `dd bs=1 count=1 <&3 >&4 2>/dev/null; echo $MAKEFLAGS; echo $CARGO_MAKEFLAGS`)
	cmd.Env, cmd.ExtraFiles = s.Env(3), s.Files()
	out, err := cmd.Output()
	if want := "-j2 --jobserver-auth=3,4\n-j2 --jobserver-fds=3,4 --jobserver-auth=3,4\n"; err != nil || string(out) != want {
		t.Errorf("%q, %v", out, err)
	}
	if missing, surplus, err := s.Close(); missing != 0 || surplus != 0 || err != nil {
		t.Errorf("%d, %d, %v", missing, surplus, err)
	}
}

func TestVariablesFromOutsideAreNamed(t *testing.T) {
	t.Parallel()
	got := Inherited([]string{"PATH=/bin", "MFLAGS=", "MAKEFLAGS= -j4 --jobserver-auth=0,1", "MAKEFLAGSX=1", "CARGO_MAKEFLAGS=-j"})
	if !slices.Equal(got, []string{"CARGO_MAKEFLAGS", "MAKEFLAGS", "MFLAGS"}) {
		t.Errorf("got %v", got)
	}
}
