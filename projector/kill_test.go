package projector_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/projector"
)

// The environment of a child that projects the log in a file until it is killed.
const (
	childURL = "TACHO_TEST_CHILD_URL"
	childLog = "TACHO_TEST_CHILD_LOG"
)

// child is the main function of a projector that will be killed: small batches, so that there are many
// transactions to be killed in.
func child() int {
	log, err := readLog(os.Getenv(childLog))
	if err == nil {
		p := projector.New(projector.Config{Log: newFeed("log", log...), URL: os.Getenv(childURL), BatchSize: 5})
		err = p.Run(context.Background())
	}
	fmt.Fprintln(os.Stderr, "child:", err)
	return 1
}

func readLog(path string) (log []events.Stored, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	err = gob.NewDecoder(file).Decode(&log)
	return log, err
}

// keepLog writes what readLog reads, so that no child has to make it up again.
func keepLog(t *testing.T, log []events.Stored) (path string) {
	t.Helper()
	var data bytes.Buffer
	if err := gob.NewEncoder(&data).Encode(log); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, data.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestKilledInTheMiddleOfBatches kills a projector again and again at random moments. At the end it compares the
// tables with those of a projector that was not killed.
func TestKilledInTheMiddleOfBatches(t *testing.T) {
	t.Parallel()
	log := walk(t, 99, 1800)
	file := keepLog(t, log)
	url := database(t)
	r := open(t, url)
	end := events.Seq(len(log))
	withGraphs := 0
	for kills := 0; ; kills++ {
		before, err := r.Cursor(t.Context())
		if kills > 0 && err != nil {
			t.Fatal(err)
		}
		if before.Seq == end {
			if kills < 8 || withGraphs == 0 {
				t.Fatalf("the projector was killed %d times only, %d times with an open graph", kills, withGraphs)
			}
			t.Logf("killed %d times, %d times with an open graph", kills, withGraphs)
			break
		}
		// It waits until the child works, and then for a random time: the kill hits any point of a transaction.
		var said strings.Builder
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childURL+"="+url, childLog+"="+file)
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
		if count(t, url, `SELECT count(*) FROM tacho.graph WHERE ended_at IS NULL`) > 0 {
			withGraphs++
		}
		if err != nil {
			t.Fatalf("child %d: %v\n%s", kills, err, said.String())
		}
	}
	if diff := cmp.Diff(contents(t, project(t, log, 1000)), contents(t, url)); diff != "" {
		t.Errorf("left alone (-) and killed (+):\n%s", diff)
	}
}
