package subprocess

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
)

func TestTheEndIsKept(t *testing.T) {
	var tail Tail
	if got := tail.LastLine(); got != "" {
		t.Errorf("got %q of nothing", got)
	}
	for range 2000 {
		_, _ = tail.Write([]byte("first é\n"))
	}
	_, _ = tail.Write([]byte("  last \n\n"))
	if got := tail.String(); len(got) > 4100 || !strings.HasPrefix(got, "…") || strings.ToValidUTF8(got, "") != got {
		t.Errorf("kept %q", got)
	}
	if got := tail.LastLine(); got != "last" {
		t.Errorf("the last line is %q", got)
	}
}

// The shell's child keeps the output open: without the group, the wait would last until the child ends.
func TestTheWholeGroupIsKilled(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cmd := exec.CommandContext(ctx, "sh", "-c", "sleep 600 & echo; wait")
	Group(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel(gone)
	if err := cmd.Wait(); err == nil || errors.Is(err, exec.ErrWaitDelay) {
		t.Errorf("got %v", err)
	}
	KillRest(cmd)
}
