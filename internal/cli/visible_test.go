package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/visible"
	"github.com/tachobench/tacho/readmodel"
)

// wicked is a text that clears the screen, asks the terminal for its title, hides text and reverses its direction.
const wicked = "\x1b[2J\x1b[21t\u009b31m\r\a\x7f\u202ereverse\u2066\ufeff"

// On a terminal JSON stays the same JSON, and the output of a job is made harmless.
func TestATerminalIsShownWhatItWouldObey(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/log") {
			// The connection carries it in pieces, also inside of a character.
			for _, b := range []byte(wicked + "✓\xff\xe2") {
				_, _ = w.Write([]byte{b})
				_ = http.NewResponseController(w).Flush()
			}
			return
		}
		if err := json.NewEncoder(w).Encode([]readmodel.Alert{{Key: "k", Kind: events.AlertStalled, Message: wicked, Action: wicked}}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	run := func(terminal bool, line string) string {
		t.Helper()
		var out, errs bytes.Buffer
		home := t.TempDir()
		p := &Program{
			Stdout: &out, Stderr: &errs, Clock: time.Now, Terminal: terminal,
			Getenv: func(name string) string { return map[string]string{"HOME": home, "TACHO_SERVER": server.URL}[name] },
		}
		if code := p.Main(t.Context(), strings.Fields(line)); code != ExitDone {
			t.Errorf("tacho %s: exit code %d: %s", line, code, errs.String())
		}
		return out.String()
	}
	if got, want := run(true, "logs j1"), visible.Text(wicked+"✓\xff\xe2"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := run(false, "logs j1"); got != wicked+"✓\xff\xe2" {
		t.Errorf("%q", got)
	}
	exact, seen := run(false, "alerts --json"), run(true, "alerts --json")
	if visible.Text(seen) != seen || exact == seen || !strings.Contains(exact, "\u202ereverse") {
		t.Errorf("%q\n%q", exact, seen)
	}
	var a, b []readmodel.Alert
	if err := json.Unmarshal([]byte(exact), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(seen), &b); err != nil || len(b) != 1 || a[0].Message != b[0].Message || b[0].Message != wicked {
		t.Errorf("%v: %+v, %+v", err, a, b)
	}
}

// The line of status does not pass the writer that cleans other text.
func TestTheStatusIsCleanToo(t *testing.T) {
	var out bytes.Buffer
	s := &screen{out: &out, width: func() int { return 80 }}
	s.show("1 of 2 · eider: " + wicked + "\n")
	if got := look(out.String()); got != "1 of 2 · eider: "+visible.Line(wicked+"\n") {
		t.Errorf("%q", got)
	}
}
