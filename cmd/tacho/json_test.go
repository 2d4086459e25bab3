package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// Every command that reads or asks prints JSON with --json. The commands come from the command line's own model, so a new
// command without an example here fails the test.
func TestEveryCommandPrintsJSON(t *testing.T) {
	t.Parallel()
	s := onGitHub(t)
	s.start()
	s.listen()
	s.repo.Comment(pull, s.alice, "@tacho help")
	s.awaitComments("the comment is answered", func(c []string) bool { return len(c) == 1 })
	c, _ := s.client()
	var deliveries []readmodel.Delivery
	var comments []readmodel.Comment
	s.eventually("the tables know of it", 30*time.Second, func() (ok bool) {
		var errs [2]error
		deliveries, errs[0] = c.Deliveries(t.Context(), client.DeliveryQuery{Outcome: events.DeliveryAccepted})
		comments, errs[1] = c.Outbox(t.Context(), client.CommentQuery{})
		return errors.Join(errs[:]...) == nil && len(deliveries) == 1 && len(comments) == 1
	})
	// The running Tacho has already read its configuration, so only the commands see this source; nothing polls it.
	s.newCommits(filepath.Join(s.dir, "commits"))(1)
	s.replace("quick.toml", "[scheduler]", fmt.Sprintf("[[poller]]\nname = \"commits\"\nkind = \"git-commits\"\nsuite = \"naps\"\nurl = %q\n[scheduler]", filepath.Join(s.dir, "commits")))
	s.must("request", "master", "v1", "--wait", "--json")
	s.must("request", "master", "v2", "--parent", "v1", "--wait")
	job := s.ended("v1").JobList[0].ID
	if _, _, code := s.run("request", "master", "v9", "--wait"); code == cli.ExitDone {
		t.Error("an artifact was measured that does not exist")
	}
	naps := s.dir + "/naps.toml"
	lines := filepath.Join(s.dir, "lines.jsonl")
	if err := os.WriteFile(lines, []byte(`{"kind":"try","key":"pr-9"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	// The order matters: each command needs those before it.
	examples := []string{
		"version", "config", "doctor", "status", "queue", "alerts", "jobs", "request list", "request show v1", "collector list",
		"graph retrigger v2 --select set=0 --copies 2", "graph noise v2 --copies 20", "graph cancel v2/2 --reason test", "graph timings v2/1",
		"request master v1", "request release v3", "request try v3 --parent v1", "request try --key pr-7", "request artifacts-ready ID --tag v2",
		"request try --key pr-8",
		"account set alice --weight 20", "account token alice", "account token alice --revoke", "queue set bisect --in-progress 1", "queue pause bisect", "queue resume bisect",
		"account list", "account show alice", "queue list", "queue --queue bisect", "share", "usage", "share policy --floor idle=1% --lag 30m", "request priority ID low --reason test", "request submit " + lines, "request submit --each " + lines,
		"request cancel ID", "queue close bisect --reason test", "account close alice --reason test", "graph repair v9 --dry-run", "request repair v9 --reason test", "logs " + string(job), "job show " + string(job), "job why " + string(job), "job diagnostics " + string(job), "compare v1 v2", "events tail -n 3", "events show 1", "events parked", "trace v1", "trace " + string(job),
		"trace 9", "replay --verify", "log check", "backup " + s.dir + "/backup", "suite list", "suite check " + naps, "suite show " + naps, "suite diff " + naps + " go", "suite publish " + naps,
		"suite plan-sets " + naps + " --target here", "graph plan " + naps, "graph list v1", "graph show v1", "graph timings v1", "waits",
		"waits --window 1h --lane here/0", "suite branches naps", "suite promote naps --inherit --branch nothing",
		"collector deactivate local-here-1", "collector add spare --target here --set 1", "collector takeover spare", "poller list", "poller look commits", "collector deactivate spare --reason test",
		"github deliveries", "github delivery " + string(deliveries[0].ID), "github outbox", "github comment " + string(comments[0].Key),
		"collector activate local-here-1", "collector drain local-here-1 --reason test", "collector want v9 --reason test", "collector want",
		"machine add eider --pool linux --slots 2 --memory 8g", "machine set eider --cpus 4 --trait nvme", "machine list", "machine show eider",
		"collector deactivate eider-1", "collector remove eider-2", "machine remove eider --reason test",
		"collector rotate spare --reason test", "collector remove spare --reason test", "collector list --all", "graph diff " + naps + " " + naps,
		"ab true true --max-pairs 1 --instructions off", "seal key alice --out " + s.dir + "/alice.key", "seal show " + s.dir + "/alice.key",
	}
	waiting := ""
	shown := map[string]bool{}
	for _, line := range examples {
		args := words(strings.ReplaceAll(line, "ID", waiting))
		out, errs, code := s.run(append(args, "--json")...)
		if code != 0 && args[0] != "doctor" {
			t.Errorf("tacho %s --json: exit code %d: %s", line, code, errs)
		}
		dec := json.NewDecoder(strings.NewReader(out))
		n := 0
		for {
			var v any
			err := dec.Decode(&v)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Errorf("tacho %s --json: %v:\n%s", line, err, out)
				break
			}
			if answer, ok := v.(map[string]any); ok && strings.HasPrefix(line, "request try --key") {
				waiting, _ = answer["request_id"].(string)
			}
			n++
		}
		if n == 0 || n > 1 && args[0] != "events" {
			t.Errorf("tacho %s --json: %d values", line, n)
		}
		shown[args[0]], shown[strings.Join(args[:min(2, len(args))], " ")] = true, true
	}
	for _, name := range commandsOf(t) {
		has := slices.Contains(offered(t, append(words(name), "--")...), "--json")
		switch name {
		case "up", "serve", "collector run", "collector supervise", "completion", "job output", "events export", "snapshot", "log repair", "restore":
			// These run until they are stopped, have only one form, or are for a Tacho that does not run.
		case "job rerun", "job force", "graph add", "graph submit", "events park", "events unpark":
			// They need a request in progress, a suite that lets jobs be added and changed, or an event of a newer version.
			if !has {
				t.Errorf("tacho %s has no --json", name)
			}
		default:
			if !has || !shown[name] {
				t.Errorf("tacho %s: has --json: %t, is tried here: %t", name, has, shown[name])
			}
		}
	}
}

// offered returns the words that a shell gets for the place of the last word.
func offered(t *testing.T, line ...string) (list []string) {
	t.Helper()
	out, err := exec.Command(binary, append([]string{"__complete"}, line...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		word, _, _ := strings.Cut(line, "\t")
		list = append(list, word)
	}
	return list
}

// commandsOf returns all commands without commands below them, as a shell gets them.
func commandsOf(t *testing.T, above ...string) (all []string) {
	t.Helper()
	below := offered(t, append(slices.Clone(above), "")...)
	if len(above) > 0 && (len(below) == 0 || above[0] == "completion") { // for completion, the words are shells
		return []string{strings.Join(above, " ")}
	}
	for _, name := range below {
		all = append(all, commandsOf(t, append(slices.Clone(above), name)...)...)
	}
	return all
}

func TestEventsComeInOrderAndAsTheyHappen(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start()
	follower := s.begin("events", "tail", "-n", "1", "-f", "--json")
	s.must("request", "master", "v1", "--wait")
	all := s.sequences(s.must("events", "tail", "--json"))
	for i, seq := range all {
		if seq != i+1 {
			t.Fatalf("event %d is shown at place %d", seq, i+1)
		}
	}
	if got := s.sequences(s.must("events", "tail", "-n", "20", "--json")); !slices.Equal(got, all[len(all)-20:]) {
		t.Errorf("the newest 20 of %d events are %v", len(all), got)
	}
	if got := s.sequences(s.must("events", "tail", "-n", "2", "--type", "job.finished.v1", "--json")); len(got) != 2 {
		t.Errorf("two of a type are %v", got)
	}
	var seen []int
	s.eventually("the follower has seen the end", 20*time.Second, func() bool {
		text := follower.log.String()
		if end := strings.LastIndexByte(text, '\n'); end >= 0 {
			seen = s.sequences(text[:end+1])
		}
		return len(seen) > 0 && seen[len(seen)-1] >= all[len(all)-1]
	})
	for i, seq := range seen {
		if seq != seen[0]+i {
			t.Fatalf("the follower sees %v", seen)
		}
	}

	story := s.must("trace", "v1")
	for _, part := range []string{"request.created", "└─ jobs.created", "job.dispatched", "test_cases.measured", "└─ request.completed"} {
		if !strings.Contains(story, part) {
			t.Errorf("the trace lacks %q:\n%s", part, story)
		}
	}
	one := s.must("trace", string(s.ended("v1").JobList[0].ID))
	if strings.Count(one, "job.finished") != 1 || strings.Count(one, "request.created") != 1 || strings.Contains(one, "request.completed") {
		t.Errorf("the trace of a job is\n%s", one)
	}
}

func (s *site) sequences(lines string) []int {
	s.t.Helper()
	var out []int
	for line := range strings.Lines(lines) {
		var e readmodel.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			s.t.Fatalf("%v: %s", err, line)
		}
		out = append(out, int(e.Seq))
	}
	return out
}
