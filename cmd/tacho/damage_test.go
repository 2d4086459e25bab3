package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
	"github.com/tachobench/tacho/readmodel"
)

// A flipped byte in the log of a real Tacho: it ends before it answers, and says where. After the repair it goes on with the same
// chain. A backup that was made while it ran is restored into an empty directory, and gives the same chain too.
func TestADamagedLogIsRepairedAndGoesOn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("--collectors", "0")
	s.must("request", "try", "--key", "pr-1")
	s.must("request", "try", "--key", "pr-2")
	before := s.chain()
	backup := filepath.Join(s.dir, "backup")
	if out := s.must("backup", backup); !strings.Contains(out, "token") {
		t.Errorf("a backup of a running Tacho says:\n%s", out)
	}
	if out := s.must("log", "check"); !strings.Contains(out, "Nothing is wrong.") {
		t.Errorf("a check of a running Tacho says:\n%s", out)
	}
	s.interrupt()
	block := s.data("log", "jetstream", "$G", "streams", "EVENTS", "msgs", "1.blk")
	text, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	text[bytes.Index(text, []byte("pr-1"))] ^= 1
	if err := os.WriteFile(block, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.data("running.json")); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	_, said, code := s.run("up", "--listen", "127.0.0.1:0")
	for _, words := range []string{"event ", "(request.", "1.blk, byte ", "its checksum is wrong", "tacho log repair", "nothing is served"} {
		if code != cli.ExitFailed || !strings.Contains(said, words) {
			t.Errorf("exit code %d, and it does not say %q:\n%s", code, words, said)
		}
	}
	if _, err := os.Stat(s.data("running.json")); err == nil {
		t.Error("it answered")
	}
	if now, err := os.ReadFile(block); err != nil || !bytes.Equal(now, text) {
		t.Errorf("it wrote into the log: %v", err)
	}
	if _, said, code := s.run("log", "check"); code != cli.ExitFailed || !strings.Contains(said, "tacho log repair") {
		t.Errorf("check: exit code %d: %s", code, said)
	}
	if out := s.must("log", "repair"); !strings.Contains(out, "repaired and verified") || !strings.Contains(out, "1 event that only the archive has") {
		t.Errorf("repair says:\n%s", out)
	}
	s.start("--collectors", "0")
	s.wantBegins(before)
	s.must("request", "try", "--key", "pr-3")
	s.must("replay", "--verify")
	s.interrupt()

	other := newSite(t)
	other.must("restore", backup)
	other.start("--collectors", "0")
	other.wantBegins(before)
	other.must("replay", "--verify")
	if _, said, code := other.run("restore", backup); code != cli.ExitRefused || !strings.Contains(said, "in use") {
		t.Errorf("a restore into a directory in use: exit code %d: %s", code, said)
	}
}

// chain returns the links of the whole log.
func (s *site) chain() (links []string) {
	s.t.Helper()
	c, _ := s.client()
	for at := 1; ; at++ {
		e, err := c.Event(s.t.Context(), events.Seq(at))
		if err != nil {
			return links
		}
		links = append(links, string(e.Chain))
	}
}

// wantBegins waits until the chain of the log begins with these links.
func (s *site) wantBegins(links []string) {
	s.t.Helper()
	var e readmodel.Event
	s.eventually("the tables have the log", 20*time.Second, func() (ok bool) {
		c, running := s.client()
		if !running {
			return false
		}
		var err error
		e, err = c.Event(s.t.Context(), events.Seq(len(links)))
		return err == nil
	})
	if want := links[len(links)-1]; string(e.Chain) != want {
		s.t.Errorf("the chain at event %d is %s, want %s", len(links), e.Chain, want)
	}
}
