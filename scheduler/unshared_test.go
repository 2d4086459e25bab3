package scheduler

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/tachobench/tacho/events"
)

// The file testdata/unshared.txt has random worlds without accounts, queues and priorities: seed, events, and a digest
// of all events without the reasons of refusals. The program before shares wrote it (commit 527b635). Programs that decide the same
// wrote it anew: when refusals were worded anew, and when a request was appended before it was read, which takes other
// random numbers. On such a farm this program must write the same.
// A change of that must be on purpose: then write the file anew, and say so.
func TestRandomUnsharedWorldsAreAsBefore(t *testing.T) {
	file, err := os.Open("testdata/unshared.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	worlds, enough := 0, min(320, modelLives/3)
	for lines := bufio.NewScanner(file); worlds < enough && lines.Scan(); worlds++ {
		var seed uint64
		if _, err := fmt.Sscan(lines.Text(), &seed); err != nil {
			t.Fatal(err)
		}
		w := newWorld(seed)
		w.looks = true
		if err := w.live(); err != nil || w.shared {
			t.Fatalf("world %d: %v", seed, err)
		}
		h := sha256.New()
		for _, e := range w.lawyer.log {
			fact := e.Fact
			if refused, is := fact.(events.GraphRefused); is { // its words may become better
				refused.Reason = ""
				fact = refused
			}
			data, err := json.Marshal(fact)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(h, "%d %s %s %s %s %d %s %s\n", e.Seq, e.Fact.Subject(), data, e.Source, e.Actor, e.Cause, e.Root, e.Time)
		}
		if got := fmt.Sprintf("%d %d %x", seed, len(w.lawyer.log), h.Sum(nil)[:8]); got != lines.Text() {
			t.Errorf("the world is %s, and was %s", got, lines.Text())
		}
	}
	if worlds < enough {
		t.Errorf("%d worlds, want %d", worlds, enough)
	}
}
