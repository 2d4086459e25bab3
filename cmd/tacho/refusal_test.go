package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/internal/node"
	"github.com/tachobench/tacho/website/client"
)

// Every wrong command is refused with one sentence that names the next step, and changes nothing.
func TestBadRequestsAreRefusedAndTheQueueGoesOn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start()
	for _, c := range []struct {
		line string
		code int
		says string
	}{
		{"request master v9 --targets mars", cli.ExitUsage, `unknown target "mars": use here`},
		{"request master v9 --profiles fast", cli.ExitUsage, `unknown profile "fast": use quick or slow`},
		{"request master v9 --backends gcc", cli.ExitUsage, `unknown backend "gcc": use any`},
		{"request master v9 --benchmarks zzz*", cli.ExitUsage, "use nap-a"},
		{"request master v9 --suite nope", cli.ExitRefused, "`tacho suite publish`"},
		{"request try", cli.ExitUsage, "--key"},
		{"request cancel r0", cli.ExitRefused, "`tacho request list`"},
		{"request cancel V9", cli.ExitRefused, "`tacho request list`"},
		{"jobs --request r0", cli.ExitRefused, "`tacho request list`"},
		{"events tail --type job.finished", cli.ExitUsage, "use job.finished.v1"},
		{"up --stay", cli.ExitUsage, "add --demo"},
		{"request master", cli.ExitUsage, "See `tacho request master --help`."},
		{"frobnicate", cli.ExitUsage, "See `tacho --help`."},
		{"request show r0", cli.ExitRefused, "`tacho request list`"},
		{"logs j0", cli.ExitRefused, "`tacho jobs`"},
		{"trace j0", cli.ExitRefused, "`tacho request list` and `tacho jobs`"},
		{"events show 99999", cli.ExitRefused, "`tacho events tail"},
		{"jobs --state asleep", cli.ExitUsage, "queued, in_progress"},
		{"collector add x --target mars", cli.ExitUsage, "they have here (2 sets)"},
		{"collector add x --target here --set 7", cli.ExitUsage, "they have here (2 sets)"},
		{"collector add local-here-0 --target here --set 1", cli.ExitRefused, "names are unique for ever"},
		{"collector add another --target here --set 1", cli.ExitRefused, "--standby"},
		{"collector run another", cli.ExitRefused, "`tacho collector add another"},
		{"collector drain another", cli.ExitRefused, "`tacho collector list`"},
	} {
		s.refused(c.code, words(c.line), c.says)
	}
	answer, err := http.Post(s.url()+webhookPath, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if said, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(said), "TACHO_WEBHOOK_SECRET") {
		t.Errorf("a delivery where no webhook runs is answered %s, %v:\n%s", answer.Status, err, said)
	}
	for _, name := range []string{"x", "another"} {
		if _, err := os.Stat(s.home().CredentialsFile(events.CollectorName(name))); !os.IsNotExist(err) {
			t.Errorf("a collector that was refused has credentials: %v", err)
		}
	}
	for _, e := range s.events() {
		// The start itself may record these at any moment.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.RequestCreated, events.RequestCancelled, events.CollectorDraining:
			t.Errorf("event %d is %T, and everything was refused", e.Seq, f)
		case events.CollectorRegistered:
			if f.Name == "x" || f.Name == "another" {
				t.Errorf("event %d registers %s, which was refused", e.Seq, f.Name)
			}
		}
	}
	s.must("request", "master", "v1", "--wait")

	// The same request again changes nothing. A request that differs in any word is refused.
	s.must("request", "master", "v1")
	n := len(s.events())
	s.refused(cli.ExitRefused, words("request master v1 --profiles slow"), "profiles slow instead of the default", "tacho request try TAG --key")
	s.refused(cli.ExitRefused, words("request master v1 --parent v0"), "parent v0 instead of none")
	for _, e := range s.events()[n:] {
		if _, asked := e.Fact.(events.RequestCreated); asked {
			t.Errorf("event %d records what was refused", e.Seq)
		}
	}
}

func TestDefinitionsThatAreWrongAreNotPublished(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.replace("naps.toml", `category = "secondary"`, `category = "secundary"`)
	file := s.dir + "/naps.toml"
	s.refused(cli.ExitUsage, words("up"), "naps.toml:", `unknown category "secundary": use primary, secondary or stable`)
	s.refused(cli.ExitFailed, []string{"suite", "check", file}, "naps.toml:", `unknown category "secundary"`)
	s.replace("naps.toml", `category = "secundary"`, `category = "secondary"`)
	s.start("--collectors", "0")
	s.replace("naps.toml", "[artifact]", "[artefact]")
	s.refused(cli.ExitFailed, []string{"suite", "publish", file}, "naps.toml:", `unknown key "artefact"`)
	s.eventually("the log has the registry and the definitions of the start", 30*time.Second, func() bool { return len(s.events()) >= 2 })
	if list := s.events(); len(list) != 2 {
		t.Errorf("the log has %d events, want the registry and the definitions of the start alone", len(list))
	}
}

func TestACollectorIsOneProcessOfOneLaneOnAMatchingHost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	text, err := os.ReadFile(s.dir + "/naps.toml")
	if err != nil {
		t.Fatal(err)
	}
	far := strings.NewReplacer(`name = "naps"`, `name = "far"`, `"here"`, `"moon"`, "here =", "moon =", `os = "`, `os = "not-`).Replace(string(text))
	if err := os.WriteFile(s.dir+"/far.toml", []byte(far), 0o644); err != nil {
		t.Fatal(err)
	}
	s.replace("quick.toml", `naps.toml"`, fmt.Sprintf(`naps.toml", "%s/far.toml"`, s.dir))
	s.start("--collectors", "0")
	s.must("collector", "add", "near", "--target", "here", "--set", "0")
	s.must("collector", "add", "far", "--target", "moon", "--set", "0")
	s.refused(cli.ExitRefused, words("collector run far"), "target moon", "run it on a matching host")

	first := s.begin("collector", "run", "near")
	s.online("near", first.cmd.Process.Pid)
	s.refused(cli.ExitRefused, words("collector run near"), fmt.Sprintf("as process %d", first.cmd.Process.Pid))

	// The same name from another machine, which does not see the lock of this one.
	other := t.TempDir()
	if err := datadir.Dir(other).Write("token", s.home().Read("token")); err != nil {
		t.Fatal(err)
	}
	s.refused(cli.ExitRefused, []string{"collector", "run", "near", "--credentials", s.home().CredentialsFile("near"), "--data", other},
		fmt.Sprintf("process %d", first.cmd.Process.Pid), "stop it")

	// The collector was registered elsewhere: its key is not here, and the log keeps the key that it has.
	s.refused(cli.ExitRefused, []string{"collector", "add", "near", "--target", "here", "--data", other, "--server", s.url()}, "copy the credentials")
	s.stranger(other, "near")
	s.refused(cli.ExitRefused, []string{"collector", "run", "near", "--data", other},
		"does not know this collector's key", "never registered there", "`tacho collector add near --target here --set 0`")
	if code := first.stop(t); code != cli.ExitDone {
		t.Errorf("the collector ends with exit code %d:\n%s", code, first.log.String())
	}
	// The refused process has not taken the name, so the next process gets it at once.
	s.online("near", s.begin("collector", "run", "near").cmd.Process.Pid)

	// On another machine, whose configuration differs from the core's.
	s.replace("quick.toml", `offline_after = "3s"`, `offline_after = "9s"`)
	s.replace("quick.toml", `beat_every = "300ms"`, `beat_every = "3s"`)
	s.refused(cli.ExitUsage, words("collector run near"), "beat_every is 3s", "for dead after 3s", "set beat_every here to 1s or less")
}

// stranger puts credentials with an unknown key into a data directory.
func (s *site) stranger(dir string, name events.CollectorName) {
	s.t.Helper()
	c, err := datadir.ReadCredentials(s.home().CredentialsFile(name))
	if err != nil {
		s.t.Fatal(err)
	}
	made, _, err := datadir.Dir(dir).NewCredentials(name, c.Target, c.Set)
	if err != nil {
		s.t.Fatal(err)
	}
	made.NATSURL = c.NATSURL
	if err := datadir.Dir(dir).Keep(made); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) url() string {
	s.t.Helper()
	r, ok := s.home().Find()
	if !ok {
		s.t.Fatal("tacho up does not run")
	}
	return r.URL
}

// online waits until the log says that the process runs the collector.
func (s *site) online(name events.CollectorName, pid int) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("collector %s is process %d", name, pid), 30*time.Second, func() bool {
		c, ok := s.client()
		if !ok {
			return false
		}
		list, err := c.Collectors(s.t.Context(), false)
		if err != nil {
			return false
		}
		for _, c := range list {
			if c.Name == name && c.PID == pid && c.State == client.CollectorIdle {
				return true
			}
		}
		return false
	})
}

// A second start on a directory is refused. After a kill, commands say what to do.
func TestWhoeverFindsTheDirectoryInUseOrLeftIsTold(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := newSite(t)
	s.start("--collectors", "0")
	in := fmt.Sprintf("in use by process %d, which answers at %s", s.up.Process.Pid, s.url())
	s.refused(cli.ExitRefused, words("up --listen 127.0.0.1:0"), in, "--data")
	s.refused(cli.ExitRefused, words("replay"), in)
	s.refused(cli.ExitRefused, words("snapshot"), in)
	s.must("collector", "add", "near", "--target", "here")

	s.kill(s.up.Process.Pid, "tacho up")
	url := s.url()
	s.eventually("the port is closed", 10*time.Second, func() bool {
		_, errs, _ := s.run("queue")
		return strings.Contains(errs, "nothing answers")
	})
	for _, line := range []string{"queue", "status", "events tail -f", "request master v1"} {
		s.refused(cli.ExitFailed, words(line), "nothing answers at "+url, "`tacho up --data "+s.data()+"`")
	}
	s.refused(cli.ExitFailed, []string{"collector", "run", "near"}, "NATS does not answer at nats://127.0.0.1:", "connection refused", "that the server runs")
	s.must("replay", "--verify")
	if out := s.must("snapshot"); !strings.Contains(out, "snapshot at event ") {
		t.Errorf("the snapshot: %s", out)
	}
	var kept node.Snapshot
	if err := json.Unmarshal([]byte(s.must("snapshot", "--json")), &kept); err != nil || kept.Seq == 0 || kept.Shape == "" {
		t.Errorf("once more: %+v, %v", kept, err)
	}

	// A collector with more patience says that it waits, and works as soon as the log is there.
	s.replace("quick.toml", `start_wait = "2s"`, `start_wait = "60s"`)
	waiting := s.begin("collector", "run", "near")
	waiting.says(s, "waiting    NATS does not answer at nats://127.0.0.1:")
	s.start("--collectors", "0")
	s.online("near", waiting.cmd.Process.Pid)
}
