package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// Two accounts have jobs measured: commands and pages show what each had, and a replay gives the same.
func TestTheTablesTellWhoHadWhat(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start()
	s.must("request", "master", "v1", "--wait")
	if out := s.must("usage"); !strings.Contains(out, "No one had machine time by shares.") {
		t.Errorf("before anyone shared the farm: %s", out)
	}
	s.must("account", "set", "alice", "--weight", "30")
	s.must("account", "set", "bob")
	s.must("queue", "set", "bisect", "--weight", "50")
	s.must("request", "master", "v2", "--account", "alice", "--wait")
	s.must("request", "release", "v3", "--account", "bob", "--queue", "bisect", "--wait")

	jobs := map[events.AccountName]int{}
	for _, e := range s.events() {
		if f, ok := e.Fact.(events.JobDispatched); ok && f.Share != nil {
			jobs[f.Share.Account]++
		}
	}
	var usage []readmodel.Usage
	if err := json.Unmarshal([]byte(s.must("usage", "--json")), &usage); err != nil {
		t.Fatal(err)
	}
	had := map[events.AccountName]int{}
	for _, u := range usage {
		if had[u.Account] += u.Jobs; u.ChargedMS <= 0 || u.ChargedMS > time.Hour.Milliseconds() {
			t.Errorf("%+v", u)
		}
	}
	for _, account := range []events.AccountName{"alice", "bob"} {
		if jobs[account] == 0 || had[account] != jobs[account] {
			t.Errorf("account %s had %d jobs, and %d were dispatched for it", account, had[account], jobs[account])
		}
	}
	for line, want := range map[string]string{
		"share": "queue bisect", "account list": "alice", "queue list": "bisect", "request list --account bob": "bisect", "request list --queue main": "v1",
		"queue --queue bisect": "The queue is empty.", "trace v3": "in queue bisect",
	} {
		if out := s.must(words(line)...); !strings.Contains(out, want) {
			t.Errorf("tacho %s lacks %q:\n%s", line, want, out)
		}
	}
	s.must("replay", "--verify")
}
