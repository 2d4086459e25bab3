package projector_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
)

// childURL is set in the environment of a child that projects the log of child until it is killed.
const childURL = "TACHO_TEST_CHILD_URL"

// killed is the log of the children: the same in each process.
func killed(t testing.TB) []events.Stored { return walk(t, 99, 4000) }

// child is the main function of a projector that will be killed: small batches, so that there are many
// transactions to be killed in.
func child() int {
	log := newFeed("log", killed(&testing.B{})...)
	p := projector.New(projector.Config{Log: log, URL: os.Getenv(childURL), BatchSize: 5})
	fmt.Fprintln(os.Stderr, "child:", p.Run(context.Background()))
	return 1
}

// TestKilledInTheMiddleOfBatches kills a projector again and again at random moments. At the end it compares the
// tables with those of a projector that was not killed.
func TestKilledInTheMiddleOfBatches(t *testing.T) {
	t.Parallel()
	log := killed(t)
	url := database(t)
	r := open(t, url)
	end := events.Seq(len(log))
	for kills := 0; ; kills++ {
		before, err := r.Cursor(t.Context())
		if kills > 0 && err != nil {
			t.Fatal(err)
		}
		if before.Seq == end {
			if kills < 8 {
				t.Fatalf("the projector was killed %d times only", kills)
			}
			t.Logf("killed %d times", kills)
			break
		}
		// It waits until the child works, and then for a random time: the kill hits any point of a transaction.
		var said strings.Builder
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childURL+"="+url)
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err = r.WaitFor(ctx, min(before.Seq+events.Seq(1+kills*37%300), end))
		cancel()
		if killErr := cmd.Process.Kill(); killErr != nil {
			t.Fatal(killErr)
		}
		_ = cmd.Wait() // it was killed, and says so
		if err != nil {
			t.Fatalf("child %d: %v\n%s", kills, err, said.String())
		}
	}
	if diff := cmp.Diff(contents(t, project(t, log, 1000)), contents(t, url)); diff != "" {
		t.Errorf("left alone (-) and killed (+):\n%s", diff)
	}
}
