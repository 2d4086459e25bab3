package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// core answers rotations as the log does. Before it takes a key, or right after, it may fail.
type keyCore struct {
	keys []string
	// dies is "before" or "after": the core dies then, for one request.
	dies string
	// removed refuses everything.
	removed bool
}

func (k *keyCore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	if r.Method == http.MethodGet {
		answer(http.StatusOK, []client.Collector{{Collector: readmodel.Collector{Name: "eider", Target: "here", Set: 1}}})
		return
	}
	var key client.NewKey
	if err := json.NewDecoder(r.Body).Decode(&key); err != nil {
		answer(http.StatusBadRequest, client.Error{Message: err.Error()})
		return
	}
	dies := k.dies
	k.dies = ""
	switch current := k.keys[len(k.keys)-1]; {
	case dies == "before":
	case k.removed:
		answer(http.StatusConflict, client.Error{Message: "collector eider was removed"})
	case key.NKey == current:
		answer(http.StatusOK, control.Answer{Seq: 7, Existed: true})
	case slices.Contains(k.keys, key.NKey):
		answer(http.StatusConflict, client.Error{Message: "the key is or was that of collector eider"})
	default:
		if k.keys = append(k.keys, key.NKey); dies != "after" {
			answer(http.StatusCreated, control.Answer{Seq: 7})
		}
	}
	if dies != "" {
		answer(http.StatusServiceUnavailable, client.Error{Message: "the log is not reachable"})
	}
}

// keySite is a data directory with the credentials of a collector whose key the core knows.
type keySite struct {
	t    *testing.T
	core *keyCore
	dir  string
	url  string
}

func newKeySite(t *testing.T) *keySite {
	t.Helper()
	s := &keySite{t: t, dir: t.TempDir()}
	creds, public, err := datadir.Dir(s.dir).NewCredentials("eider", "here", 1)
	if err != nil {
		t.Fatal(err)
	}
	creds.NATSURL = "nats://example:4222"
	if err := datadir.Dir(s.dir).Keep(creds); err != nil {
		t.Fatal(err)
	}
	s.core = &keyCore{keys: []string{public}}
	web := httptest.NewServer(s.core)
	t.Cleanup(web.Close)
	s.url = web.URL
	return s
}

func (s *keySite) rotate(more string) (out, errs string, code int) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	p := &Program{Stdout: &stdout, Stderr: &stderr, Clock: time.Now, Getenv: func(name string) string {
		return map[string]string{"HOME": s.dir, "TACHO_SERVER": s.url, "TACHO_DATA": s.dir}[name]
	}}
	code = p.Main(s.t.Context(), strings.Fields("collector rotate eider"+more))
	return stdout.String(), stderr.String(), code
}

func (s *keySite) file() string { return datadir.Dir(s.dir).CredentialsFile("eider") }

// key returns the public key in a file of credentials; empty when there is none.
func (s *keySite) key(file string) string {
	s.t.Helper()
	creds, err := datadir.ReadCredentials(file)
	if os.IsNotExist(err) {
		return ""
	}
	if err != nil {
		s.t.Fatal(err)
	}
	key, err := creds.PublicKey()
	if err != nil {
		s.t.Fatal(err)
	}
	return key
}

// current is the key that the core knows.
func (s *keySite) current() string { return s.core.keys[len(s.core.keys)-1] }

func TestARotationReplacesTheCredentials(t *testing.T) {
	s := newKeySite(t)
	out, errs, code := s.rotate(" --reason disk")
	if code != ExitDone || s.key(s.file()) != s.current() || len(s.core.keys) != 2 || s.key(datadir.NextFile(s.file())) != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	contains(t, "what to do", out, "collector eider has a new key", s.file(), "copy the file")
	if creds, err := datadir.ReadCredentials(s.file()); err != nil || creds.NATSURL != "nats://example:4222" || creds.Set != 1 {
		t.Errorf("%+v %v", creds, err)
	}
	// The credentials are elsewhere.
	if err := os.Remove(s.file()); err != nil {
		t.Fatal(err)
	}
	out, errs, code = s.rotate(" --json")
	var answer struct{ NKey, Credentials string }
	if err := json.Unmarshal([]byte(out), &answer); err != nil || code != ExitDone || answer.NKey != s.current() || answer.Credentials != s.file() || s.key(s.file()) != s.current() {
		t.Errorf("exit code %d: %v %s%s", code, err, out, errs)
	}
	if info, err := os.Stat(s.file()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// A rotation that is killed leaves both keys: the old one in its place, the new one beside it. The next rotation continues
// with the new one.
func TestARotationThatWasCutOffGoesOn(t *testing.T) {
	for _, dies := range []string{"before", "after"} {
		t.Run(dies+" the log has it", func(t *testing.T) {
			s := newKeySite(t)
			old := s.current()
			s.core.dies = dies
			_, errs, code := s.rotate("")
			next := s.key(datadir.NextFile(s.file()))
			if code == ExitDone || s.key(s.file()) != old || next == "" || (s.current() == next) != (dies == "after") {
				t.Fatalf("exit code %d, old %s, next %s, log %s", code, s.key(s.file()), next, s.current())
			}
			contains(t, "the error", errs, datadir.NextFile(s.file()), "tacho collector rotate eider")
			if _, errs, code := s.rotate(""); code != ExitDone || s.key(s.file()) != next || s.current() != next || s.key(datadir.NextFile(s.file())) != "" {
				t.Errorf("exit code %d: %s; the log has %s, the file %s", code, errs, s.current(), s.key(s.file()))
			}
		})
	}
}

func TestARotationThatIsRefusedLeavesTheOldCredentials(t *testing.T) {
	s := newKeySite(t)
	s.core.removed = true
	if _, errs, code := s.rotate(""); code != ExitRefused || !strings.Contains(errs, "was removed") || s.key(s.file()) != s.current() || s.key(datadir.NextFile(s.file())) != "" {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// The key that an old rotation left was used and has been replaced, from another directory.
func TestAKeyThatWasReplacedIsNotUsedAgain(t *testing.T) {
	s := newKeySite(t)
	s.core.dies = "after"
	s.rotate("")
	left := s.current()
	_, other, err := datadir.Dir(t.TempDir()).NewCredentials("eider", "here", 1)
	if err != nil {
		t.Fatal(err)
	}
	s.core.keys = append(s.core.keys, other)
	if _, errs, code := s.rotate(""); code != ExitDone || s.key(s.file()) != s.current() || s.current() == left || len(s.core.keys) != 4 {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestRemovedCollectorsAndAgesOfKeysAreListed(t *testing.T) {
	now := time.Now()
	row := func(name events.CollectorName, state client.CollectorState, age time.Duration) client.Collector {
		return client.Collector{Collector: readmodel.Collector{Name: name, Target: "here", KeySince: now.Add(-age)}, State: state}
	}
	list := []client.Collector{row("a", client.CollectorIdle, 72*time.Hour+time.Minute), row("b", client.CollectorRemoved, 90*time.Minute)}
	out, errs, code := answering(t, map[string]any{"collectors": list, "wanted-version": client.WantedVersion{}}, "collector list --all")
	if code != ExitDone {
		t.Fatal(errs)
	}
	contains(t, "the list", out, "KEY", "3 d", "removed", "1 h 30 min")
}
