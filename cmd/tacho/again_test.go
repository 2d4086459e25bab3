package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
	"github.com/tachobench/tacho/internal/fakegithub"
	"github.com/tachobench/tacho/website/client"
)

// graphed runs a command that answers with jobs.
func (s *site) graphed(args ...string) (a client.GraphAnswer) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.must(append(args, "--json")...)), &a); err != nil {
		s.t.Fatal(err)
	}
	return a
}

// sampled returns the ends of the jobs of a graph's samples.
func (s *site) sampled(a client.GraphAnswer) (ends []events.Outcome) {
	for _, e := range s.events() {
		f, ok := e.Fact.(events.JobFinished)
		if ok && slices.ContainsFunc(a.Jobs, func(j client.GraphJob) bool { return j.JobID == f.JobID && j.Sample != "" }) {
			ends = append(ends, f.Outcome)
		}
	}
	return ends
}

// Jobs are measured again as samples: what a dry run shows is made, a key is one wish also after the program was killed,
// and what makes no sense is refused.
func TestJobsAreMeasuredAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start()
	s.must("request", "master", "v1", "--profiles", "quick", "--wait")
	s.must("request", "master", "v2", "--parent", "v1", "--profiles", "quick", "--wait")

	shown := s.graphed("graph", "retrigger", "v2", "--select", "set=0,1", "--copies", "2", "--dry-run")
	if len(shown.Jobs) != 2 || shown.Copies != 2 || shown.Token == "" || shown.Jobs[0].State != "success" {
		t.Fatalf("%+v", shown)
	}
	if out, errs, _ := s.run("graph", "retrigger", "v2", "--dry-run"); !strings.Contains(errs, "2 jobs would be measured 1 more time") || !strings.Contains(out, "compile/here/1/any/quick") || !strings.Contains(errs, "--expect "+shown.Token) {
		t.Errorf("%s%s", out, errs)
	}
	again := []string{"graph", "retrigger", "v2", "--copies", "2", "--expect", shown.Token, "--key", "once"}
	made := s.graphed(again...)
	if len(made.Jobs) != 4 || made.Graph == nil || !made.Answered {
		t.Fatalf("%+v", made)
	}
	s.kill(s.up.Process.Pid, "tacho up")
	s.start()
	if once := s.graphed(again...); !once.Existed || len(once.Jobs) != 4 || *once.Graph != *made.Graph {
		t.Errorf("after the program was killed: %+v", once)
	}
	noise := s.graphed("graph", "noise", "v2", "--copies", "2", "--job", string(shown.Jobs[1].JobID), "--benchmarks", "nap-b", "--reason", "it jumps")
	if len(noise.Jobs) != 2 || noise.Jobs[0].Tag != "v1" {
		t.Errorf("%+v", noise)
	}
	for what, a := range map[string]client.GraphAnswer{"the retrigger": made, "noise": noise} {
		s.eventually(what+" is measured", 90*time.Second, func() bool { return len(s.sampled(a)) == len(a.Jobs) })
		if ends := s.sampled(a); slices.ContainsFunc(ends, func(o events.Outcome) bool { return o != events.Success }) {
			t.Errorf("%s: %v", what, ends)
		}
	}

	many := s.graphed("graph", "retrigger", "v2", "--copies", "20", "--priority", "idle")
	name := string(many.RequestID) + "/" + string('0'+rune(*many.Graph))
	if out := s.must("graph", "cancel", name, "--reason", "too many"); !strings.Contains(out, "graph "+name+" is cancelled") {
		t.Error(out)
	}
	s.eventually("the cancelled graph ends", 60*time.Second, func() bool {
		_, errs, code := s.run("graph", "cancel", name)
		return code == cli.ExitRefused && strings.Contains(errs, "has no open graph")
	})
	if ends := s.sampled(many); len(ends) == len(many.Jobs) && !slices.Contains(ends, events.Cancelled) {
		t.Errorf("it ran to its end: %v", ends)
	}

	for line, want := range map[string]struct {
		code int
		says string
	}{
		"graph retrigger v2 --copies 0":                                  {cli.ExitUsage, "0 copies"},
		"graph retrigger v2 --copies 21":                                 {cli.ExitUsage, "use 1 to 20"},
		"graph noise v2 --copies 1":                                      {cli.ExitUsage, "use 2 to 20"},
		"graph retrigger v2 --downstream some":                           {cli.ExitUsage, "--downstream must be one of"},
		"graph retrigger v2 --select lane=0":                             {cli.ExitUsage, "kind, target, set"},
		"graph cancel v2":                                                {cli.ExitUsage, "write REQUEST/N"},
		"graph cancel v2/last":                                           {cli.ExitUsage, "write REQUEST/N"},
		"graph cancel v2/77":                                             {cli.ExitRefused, "tacho graph list"},
		"request priority v2/77 low":                                     {cli.ExitRefused, "tacho graph list"},
		"request priority v9/1 low":                                      {cli.ExitRefused, "v9"},
		"graph retrigger v9":                                             {cli.ExitRefused, "v9"},
		"graph retrigger v2 --job j0000":                                 {cli.ExitRefused, "j0000"},
		"graph retrigger v2 --select kind=link":                          {cli.ExitRefused, "no job has kind=link"},
		"graph retrigger v2 --select kind=link --dry-run":                {cli.ExitRefused, "no job has kind=link"},
		"graph retrigger v2 --benchmarks nobody":                         {cli.ExitRefused, "matches nothing"},
		"graph retrigger v2 --copies 3 --key once":                       {cli.ExitRefused, "choose another key"},
		"graph retrigger v2 --select set=1 --expect " + shown.Token:      {cli.ExitRefused, "look again with --dry-run"},
		"graph noise v1":                                                 {cli.ExitRefused, "has no parent"},
		"graph repair v2":                                                {cli.ExitRefused, "every job of the request succeeded"},
		"graph repair v2 --select state=failure --dry-run":               {cli.ExitRefused, "every job of the request succeeded"},
		"job rerun " + string(shown.Jobs[0].JobID) + " --request v2":     {cli.ExitRefused, "tacho graph retrigger"},
		"request repair v2 --select " + string(shown.Jobs[0].JobID[:10]): {cli.ExitRefused, "what it measured stands"},
	} {
		_, errs, code := s.run(words(line)...)
		if code != want.code || !strings.Contains(errs, want.says) {
			t.Errorf("tacho %s: exit code %d, want %d with %q: %s", line, code, want.code, want.says, errs)
		}
	}
	_, errs, _ := s.run("job", "rerun", string(shown.Jobs[0].JobID), "--request", "v2")
	if parts := strings.Split(errs, "`"); len(parts) != 3 || len(s.graphed(words(strings.TrimPrefix(parts[1], "tacho "))...).Jobs) != 1 {
		t.Errorf("what a rerun that is too late advises does not make a job: %s", errs)
	}
	wished := 0
	for _, e := range s.events() {
		if f, ok := e.Fact.(events.GraphWanted); ok && f.Key == "once" {
			wished++
		}
	}
	if wished != 1 {
		t.Errorf("%d wishes with one key", wished)
	}
}

// A comment takes samples of the parent once the request has ended, and says in a sentence what there is to retry.
func TestACommentMeasuresAgain(t *testing.T) {
	t.Parallel()
	g := onGitHub(t)
	g.start()
	g.listen()
	g.must("request", "master", parentSHA, "--profiles", "quick", "--benchmarks", "nap-a")
	g.repo.Comment(pull, g.alice, "@tacho build "+mergeSHA+" profiles=quick benchmarks=nap-a")
	g.awaitComments("the report", func(c []string) bool {
		return len(c) > 0 && strings.HasPrefix(c[len(c)-1], "Finished benchmarking commit")
	})
	for _, c := range []struct {
		comment, answer string
		stranger        bool
	}{
		{comment: "@tacho noise 2", answer: "I measure the parent `" + parentSHA + "` 2 more times"},
		{comment: "@tacho retry state=failure", answer: "Every job of the request succeeded"},
		{comment: "@tacho priority vip", answer: "is completed"},
		{comment: "@tacho noise 99", answer: "use 2 to 20"},
		{comment: "@tacho retry", answer: "Sorry, @mallory", stranger: true},
	} {
		who := g.alice
		if c.stranger {
			who = g.mallory
		}
		before := len(g.comments())
		g.repo.Comment(pull, who, c.comment)
		g.awaitComments(c.comment+" is answered", func(all []string) bool { return len(all) > before && strings.Contains(all[len(all)-1], c.answer) })
	}
	for _, d := range g.hook.Deliveries() {
		g.hook.Redeliver(d.ID)
	}
	g.eventually("the samples are measured", 90*time.Second, func() bool {
		wished, ended := 0, 0
		made := map[events.JobID]bool{}
		for _, e := range g.events() {
			// Only these tell of samples.
			//exhaustive:ignore
			switch f := e.Fact.(type) {
			case events.GraphWanted:
				wished++
			case events.JobsCreated:
				for _, spec := range f.Jobs {
					made[spec.ID] = spec.Sample != "" && string(spec.Artifact.Tag) == parentSHA
				}
			case events.JobFinished:
				if made[f.JobID] && f.Outcome == events.Success {
					ended++
				}
			}
		}
		if wished > 2 { // the noise, and the retry that was refused
			t.Fatalf("%d wishes", wished)
		}
		return ended == 4 // two jobs of each sample
	})
}

// A comment lets what failed run again, and the request stays failed. What GitHub delivers twice makes nothing twice. That the report is
// edited minutes later is tested where time is simulated, in package reporter.
func TestACommentRepairsARequest(t *testing.T) {
	t.Parallel()
	g := onGitHub(t)
	g.replace("naps.toml", `command = ["/bin/sh", "{source}/nap.sh", "0.1"]`, `command = ["/bin/sh", "-c", "test ! -e {artifact}/bad"]`)
	bad := filepath.Join(g.dir, "artifacts", mergeSHA, "bad")
	err := os.WriteFile(bad, nil, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	g.start()
	g.listen()
	g.must("request", "master", parentSHA, "--profiles", "quick", "--benchmarks", "nap-a", "--wait")
	g.repo.Comment(pull, g.alice, "@tacho build "+mergeSHA+" profiles=quick benchmarks=nap-a")
	report := func() (found fakegithub.Comment) {
		for _, c := range g.repo.Comments(pull) {
			if c.Author.ID == g.bot.ID && strings.HasPrefix(c.Body, "Finished benchmarking commit") {
				found = c
			}
		}
		return found
	}
	g.eventually("the report says what failed", 90*time.Second, func() bool { return strings.Contains(report().Body, "failed") })
	if err := os.Remove(bad); err != nil {
		t.Fatal(err)
	}
	g.repo.Comment(pull, g.alice, "@tacho retry")
	g.awaitComments("the retry is answered", func(c []string) bool { return strings.Contains(c[len(c)-1], "runs again") })
	for _, d := range g.hook.Deliveries() {
		g.hook.Redeliver(d.ID)
	}
	g.eventually("the job has run again", 90*time.Second, func() bool { return g.count("job.finished.v1") == 5 })
	wishes, ends := 0, map[events.JobID]events.Outcome{}
	for _, e := range g.events() {
		// Only these tell of the retry.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.GraphWanted:
			wishes++
		case events.JobFinished:
			ends[f.JobID] = f.Outcome
		}
	}
	failed := 0
	for _, outcome := range ends {
		if outcome == events.Failure {
			failed++
		}
	}
	if r := g.ended(mergeSHA); r.State != events.StateFailed || wishes != 1 || failed != 1 {
		t.Errorf("the request is %s; %d wishes, ends %v", r.State, wishes, ends)
	}
	if c := report(); strings.Count(strings.Join(g.comments(), "\n"), "Finished benchmarking commit") != 1 {
		t.Errorf("there are several reports:\n%s", c.Body)
	}
}
