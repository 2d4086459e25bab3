package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
	"github.com/tachobench/tacho/rules/seal"
	"github.com/tachobench/tacho/rules/suite"
)

// sealedFarm is a Tacho on a NATS server of others, with one collector that checks seals. The test has all rights on the server.
type sealedFarm struct {
	*site
	// near is the site of the collector, with a configuration of its own.
	near *site
	// log is the log as somebody sees it who can write anything.
	log       *jetstream.Log
	lane      events.Lane
	collector *process
	// canary is a file that changed definitions make.
	canary string
}

// newSealedFarm prepares a farm. Its configuration names the keys alice, for definitions, and sched, for dispatches.
func newSealedFarm(t *testing.T) *sealedFarm {
	t.Helper()
	address := natsWith(t, natsConf(t, "{ user: core, password: s3cret }", door.Account("near", "CORE", "{ user: near, password: n3ar }")))
	f := &sealedFarm{site: newSite(t), lane: events.Lane{Target: "here", Set: 0}}
	f.canary = filepath.Join(f.dir, "canary")
	f.patient()
	f.replace("naps.toml", "sets = 2", "sets = 1")
	f.replace("naps.toml", "{ here = 1 }", "{ here = 0 }")
	profiles := ""
	for i := range 8 {
		profiles += fmt.Sprintf("[[profile]]\nname = \"slow%d\"\n\n", i)
	}
	f.replace("naps.toml", "[[profile]]\nname = \"slow\"\n\n", profiles)
	for i := range 12 {
		err := os.MkdirAll(filepath.Join(f.dir, "artifacts", fmt.Sprintf("a%d", i)), 0o755)
		if err != nil {
			t.Fatal(err)
		}
	}
	plain, err := os.ReadFile(filepath.Join(f.dir, "quick.toml"))
	if err != nil {
		t.Fatal(err)
	}
	f.near = &site{t: t, dir: f.dir, args: []string{"--data", f.data(), "--config", filepath.Join(f.dir, "near.toml")}, env: append(slices.Clip(f.env), "TACHO_NATS_URL=nats://near:n3ar@"+address)}
	f.env = append(f.env, "TACHO_NATS_URL=nats://core:s3cret@"+address)
	err = os.WriteFile(filepath.Join(f.dir, "plain.toml"), plain, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	f.use("alice", "sched")

	nc, err := nats.Connect("nats://core:s3cret@" + address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	f.start("--collectors", "0")
	f.log, err = jetstream.Open(t.Context(), nc, jetstream.Config{Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	f.must("collector", "add", "near", "--target", "here", "--set", "0")
	return f
}

// key returns a private key, and makes it with the command at first.
func (f *sealedFarm) key(name string) *seal.Private {
	f.t.Helper()
	file := filepath.Join(f.dir, name+".key")
	if _, err := os.Stat(file); err != nil {
		f.must("seal", "key", name, "--out", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		f.t.Fatal(err)
	}
	key, err := seal.ParsePrivate(strings.TrimSpace(string(text)))
	if err != nil {
		f.t.Fatal(err)
	}
	return key
}

// use writes the configuration of the core: who seals the suites and who the dispatches.
func (f *sealedFarm) use(publisher, dispatcher string) {
	f.t.Helper()
	plain, err := os.ReadFile(filepath.Join(f.dir, "plain.toml"))
	if err != nil {
		f.t.Fatal(err)
	}
	f.key(publisher)
	f.key(dispatcher)
	text := strings.Replace(string(plain), "[scheduler]\n", fmt.Sprintf("seal_key = %q\n[scheduler]\nseal_key = %q\n",
		filepath.Join(f.dir, publisher+".key"), filepath.Join(f.dir, dispatcher+".key")), 1)
	err = os.WriteFile(filepath.Join(f.dir, "quick.toml"), []byte(text), 0o644)
	if err != nil {
		f.t.Fatal(err)
	}
}

// trust starts the collector, anew if it runs, with lists of keys.
func (f *sealedFarm) trust(mode string, publishers, dispatchers []string) {
	f.t.Helper()
	if f.collector != nil {
		f.collector.stop(f.t)
	}
	list := func(names []string) string {
		var out []string
		for _, name := range names {
			out = append(out, fmt.Sprintf("%q", f.key(name).Public()))
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	plain, err := os.ReadFile(filepath.Join(f.dir, "plain.toml"))
	if err != nil {
		f.t.Fatal(err)
	}
	text := strings.Replace(string(plain), "[collector]\n", fmt.Sprintf("[collector]\nseals = %q\npublishers = %s\ndispatchers = %s\n", mode, list(publishers), list(dispatchers)), 1)
	err = os.WriteFile(filepath.Join(f.dir, "near.toml"), []byte(text), 0o644)
	if err != nil {
		f.t.Fatal(err)
	}
	f.collector = f.near.begin("collector", "run", "near")
}

// forge appends a fact, as somebody does who can write into the log.
func (f *sealedFarm) forge(fact events.Fact) {
	f.t.Helper()
	last, _, err := f.log.Last(f.t.Context(), fact.Subject())
	if err == nil {
		e := eventlog.NewEvent(fact, eventlog.Meta{Source: "control", Actor: "cli:alice"}, time.Now())
		_, err = f.log.Append(f.t.Context(), eventlog.Append{Subject: fact.Subject(), Expected: last.Seq, Events: []events.Event{e}})
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// measure asks for an artifact, and returns whether its request was completed and how its jobs ended.
func (f *sealedFarm) measure(tag string) (completed bool, ends []events.JobFinished) {
	f.t.Helper()
	f.must("request", "master", tag, "--profiles", "quick")
	f.eventually("the request for "+tag+" ends", 60*time.Second, func() (over bool) {
		var id events.RequestID
		ends = nil
		for _, e := range f.events() {
			switch fact := e.Fact.(type) {
			case events.RequestCreated:
				if string(fact.Tag) == tag {
					id = fact.RequestID
				}
			case events.JobFinished:
				if fact.RequestID == id {
					ends = append(ends, fact)
				}
			case events.RequestCompleted:
				over, completed = over || fact.RequestID == id, completed || fact.RequestID == id
			case events.RequestFailed:
				over = over || fact.RequestID == id
			}
		}
		return over
	})
	return completed, ends
}

// measured fails the test unless an artifact is measured.
func (f *sealedFarm) measured(when, tag string) {
	f.t.Helper()
	completed, ends := f.measure(tag)
	if !completed || len(ends) != 1 || ends[0].Outcome != events.Success || ends[0].Measured != 6 {
		f.t.Errorf("%s: completed %v, %+v", when, completed, ends)
	}
}

// unmeasured fails the test unless the job of an artifact is refused for a reason, and nothing of it ran.
func (f *sealedFarm) unmeasured(when, tag, reason string) {
	f.t.Helper()
	completed, ends := f.measure(tag)
	if completed || len(ends) != 1 {
		f.t.Fatalf("%s: completed %v, %+v", when, completed, ends)
	}
	f.wantRefused(when, ends[0], reason)
}

func (f *sealedFarm) wantRefused(when string, end events.JobFinished, reason string) {
	f.t.Helper()
	if end.Outcome != events.Failure || end.Fault != events.ErrorSeal || end.Measured != 0 || end.Collector != "near" || !strings.Contains(end.Reason, reason) {
		f.t.Errorf("%s: %+v, want %q", when, end, reason)
	}
	if _, err := os.Stat(f.canary); err == nil {
		f.t.Errorf("%s: something was executed", when)
	}
}

// changed returns the definitions of the farm with another description, and as somebody changed them whose command makes the canary.
func (f *sealedFarm) changed(description string) (good, evil suite.Definitions) {
	f.t.Helper()
	good, err := definitions.Load(filepath.Join(f.dir, "naps.toml"))
	if err != nil {
		f.t.Fatal(err)
	}
	good.Description = description
	evil, err = suite.Parse(good.Canonical())
	if err != nil {
		f.t.Fatal(err)
	}
	for i := range evil.Benchmarks {
		evil.Benchmarks[i].Command = []string{"/bin/sh", "-c", "touch " + f.canary}
	}
	return good, evil
}

// last returns the newest dispatch of the lane.
func (f *sealedFarm) last() events.JobDispatched {
	f.t.Helper()
	last, _, err := f.log.Last(f.t.Context(), events.LaneSubject(f.lane))
	d, ok := last.Fact.(events.JobDispatched)
	if err != nil || !ok {
		f.t.Fatal(last, err)
	}
	return d
}

// endOf waits for the end of the job at a place.
func (f *sealedFarm) endOf(place uint64) (end events.JobFinished) {
	f.t.Helper()
	f.eventually(fmt.Sprintf("the job at place %d ends", place), 60*time.Second, func() bool {
		history, err := f.log.Read(f.t.Context(), events.WorkSubject(f.lane))
		if err != nil {
			f.t.Fatal(err)
		}
		for _, e := range history {
			if ended, ok := e.Fact.(events.JobFinished); ok && ended.Place == place {
				end = ended
				return true
			}
		}
		return false
	})
	return end
}

// A collector that enforces seals executes nothing of a definition or of a dispatch that somebody changed who has all rights on
// NATS. One that only warns does.
func TestASealedFarmExecutesNothingForged(t *testing.T) {
	t.Parallel()
	f := newSealedFarm(t)
	f.trust("enforce", []string{"alice"}, []string{"sched"})
	f.measured("sealed by both", "a0")
	f.forgedDispatches(f.last())

	// The content under a digest that alice sealed is another one.
	good, evil := f.changed("the second version")
	f.forge(events.DefinitionsPublished{
		Suite: "naps", Digest: good.Digest(), Content: evil.Canonical(), Seal: f.key("alice").Definitions("naps", good.Digest()),
	})
	f.unmeasured("changed content", "a1", "are not what their digest")
	// Definitions without a seal, then with the seal of a stranger, then with alice's of others.
	_, evil = f.changed("the third version")
	f.forge(events.DefinitionsPublished{Suite: "naps", Digest: evil.Digest(), Content: evil.Canonical()})
	f.unmeasured("no seal", "a2", "have no seal: publish them")
	f.forge(events.DefinitionsPublished{Suite: "naps", Digest: evil.Digest(), Content: evil.Canonical(), Seal: f.key("mallory").Definitions("naps", evil.Digest())})
	f.unmeasured("the seal of a stranger", "a3", f.key("mallory").Public().ID+", which is none of this collector's publishers")
	f.forge(events.DefinitionsPublished{Suite: "naps", Digest: evil.Digest(), Content: evil.Canonical(), Seal: f.key("alice").Definitions("naps", good.Digest())})
	f.unmeasured("the seal of others", "a4", "with key "+f.key("alice").Public().ID+" is wrong")

	f.eventually("an alert names the collector and the job", 30*time.Second, func() bool {
		out := f.must("alerts")
		return strings.Contains(out, "Collector near refused job") && strings.Contains(out, "find out who has access to NATS")
	})

	// The same definitions run where seals only warn: the canary is one.
	f.trust("warn", []string{"alice"}, []string{"sched"})
	completed, ends := f.measure("a5")
	if _, err := os.Stat(f.canary); err != nil || !completed || len(ends) != 1 || ends[0].Outcome != events.Success {
		t.Errorf("warned: completed %v, %+v, %v", completed, ends, err)
	}
	f.collector.says(f.near, `collector.seals is`)
	if out := f.must("job", "show", string(ends[0].JobID)); !strings.Contains(out, "a collector that enforces seals would have refused it") {
		t.Errorf("the job does not say it:\n%s", out)
	}
}

// forgedDispatches puts dispatches on the lane, while its collector is away, for jobs that wait there.
func (f *sealedFarm) forgedDispatches(genuine events.JobDispatched) {
	f.t.Helper()
	f.collector.stop(f.t)
	_, evil := f.changed("the first version")
	f.forge(events.DefinitionsPublished{Suite: "naps", Digest: evil.Digest(), Content: evil.Canonical(), Branch: "elsewhere", Seal: f.key("alice").Definitions("naps", evil.Digest())})
	f.must("request", "master", "a8")
	f.eventually("a job of the request is dispatched", 30*time.Second, func() bool { return f.last().Job.Artifact.Tag == "a8" })
	first := f.last()
	var waiting []events.JobSpec
	for _, e := range f.events() {
		if made, ok := e.Fact.(events.JobsCreated); ok && made.RequestID == first.Job.RequestID {
			for _, spec := range made.Jobs {
				if spec.ID != first.Job.ID {
					waiting = append(waiting, spec)
				}
			}
		}
	}
	changed, stranger := "is not what was sealed with key "+f.key("sched").Public().ID, "none of this collector's dispatchers"
	forgeries := []struct {
		what   string
		change func(*events.JobDispatched)
		reason string
	}{
		{"other benchmarks", func(d *events.JobDispatched) { d.Job.Benchmarks = []string{"nap-a"} }, changed},
		{"another artifact", func(d *events.JobDispatched) { d.Job.Artifact.Tag = "a9" }, changed},
		{"other definitions", func(d *events.JobDispatched) { d.Job.Definitions = evil.Digest() }, changed},
		{"the seal of another job", func(d *events.JobDispatched) { d.Seal = genuine.Seal }, changed},
		{"the seal of another place", func(d *events.JobDispatched) { d.Place++; d.Seal = f.key("sched").Dispatch(*d); d.Place-- }, changed},
		{"no seal", func(d *events.JobDispatched) { d.Seal = nil }, "has no seal: give the scheduler a key"},
		{"the seal of alice", func(d *events.JobDispatched) { d.Seal = f.key("alice").Dispatch(*d) }, stranger},
		{"the seal of a stranger", func(d *events.JobDispatched) { d.Seal = f.key("mallory").Dispatch(*d) }, stranger},
	}
	if len(waiting) < len(forgeries) {
		f.t.Fatalf("%d jobs wait", len(waiting))
	}
	for i, c := range forgeries {
		d := events.JobDispatched{Place: first.Place + 1 + uint64(i), Job: waiting[i]}
		d.Seal = f.key("sched").Dispatch(d) // as the scheduler would do
		c.change(&d)
		f.forge(d)
	}
	f.trust("enforce", []string{"alice"}, []string{"sched"})
	for i, c := range forgeries {
		f.wantRefused("a dispatch with "+c.what, f.endOf(first.Place+1+uint64(i)), c.reason)
	}
	if end := f.endOf(first.Place); end.Outcome != events.Success {
		f.t.Errorf("the job before them: %+v", end)
	}
}

// Keys are replaced one after the other while both count, and no job is refused. What only the old one sealed is refused when it
// is removed.
func TestKeysOfSealsAreRotated(t *testing.T) {
	t.Parallel()
	f := newSealedFarm(t)
	f.trust("enforce", []string{"alice"}, []string{"sched"})
	f.measured("with the old keys", "a0")
	f.trust("enforce", []string{"alice", "alice2"}, []string{"sched", "sched2"})
	f.measured("with the new keys beside the old ones", "a1")

	before := len(f.publications())
	f.must("suite", "publish", filepath.Join(f.dir, "naps.toml"), "--key", filepath.Join(f.dir, "alice2.key"))
	f.measured("with both seals of the publishers", "a2")
	if out := f.must("suite", "publish", filepath.Join(f.dir, "naps.toml"), "--key", filepath.Join(f.dir, "alice2.key")); !strings.Contains(out, "already current, sealed with key "+f.key("alice2").Public().ID) {
		t.Error(out)
	}
	f.use("alice2", "sched2")
	second := f.begin("serve", "scheduler")
	second.says(f.site, "serving    scheduler")
	f.measured("with two schedulers that have different keys", "a3")
	second.stop(t)
	f.restart()
	f.measured("with the new keys in use", "a4")
	if made := f.publications()[before:]; len(made) != 1 || made[0].Seal.Key != f.key("alice2").Public().ID || made[0].Digest != f.publications()[0].Digest {
		t.Errorf("%+v", made)
	}
	f.trust("enforce", []string{"alice2"}, []string{"sched2"})
	f.measured("without the old keys", "a5")

	f.replace("naps.toml", "primary_target", "description = \"another\"\nprimary_target")
	f.must("suite", "publish", filepath.Join(f.dir, "naps.toml"), "--key", filepath.Join(f.dir, "alice.key"))
	f.unmeasured("sealed with the old key", "a6", f.key("alice").Public().ID+", which is none of this collector's publishers")
	f.must("suite", "publish", filepath.Join(f.dir, "naps.toml"), "--key", filepath.Join(f.dir, "alice2.key"))
	f.measured("sealed again with the new key", "a7")
}

// publications returns what was published.
func (f *sealedFarm) publications() (out []events.DefinitionsPublished) {
	f.t.Helper()
	for _, e := range f.events() {
		if p, ok := e.Fact.(events.DefinitionsPublished); ok {
			out = append(out, p)
		}
	}
	return out
}

// restart ends `tacho up` and starts it again.
func (f *sealedFarm) restart() {
	f.t.Helper()
	f.kill(f.up.Process.Pid, "tacho up")
	f.start("--collectors", "0")
}

// Keys are made by one command, and the private half is never shown.
func TestKeysOfSealsAreMade(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	file := filepath.Join(s.dir, "alice.key")
	out, errs, code := s.run("seal", "key", "alice", "--out", file)
	info, err := os.Stat(file)
	if code != 0 || err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%d %v %s", code, err, errs)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.Fields(string(text))[2]
	public, err := seal.ParsePublic(out)
	if err != nil || strings.Contains(out+errs, secret) {
		t.Errorf("%s%s%v", out, errs, err)
	}
	var shown map[string]string
	err = json.Unmarshal([]byte(s.must("seal", "show", file, "--json")), &shown)
	if err != nil || shown["public"] != strings.TrimSpace(out) || shown["id"] != public.ID {
		t.Errorf("%v %v", shown, err)
	}
	s.refused(cli.ExitRefused, words("seal key alice --out "+file), "exists and is kept as it is", "tacho seal show")
	again, err := os.ReadFile(file)
	if err != nil || string(again) != string(text) {
		t.Error("the file was changed", err)
	}
	s.refused(cli.ExitUsage, words("seal key Alice --out "+file+"2"), "name of the key")
	s.refused(cli.ExitUsage, words("suite publish go --key "+s.dir+"/absent"), "`tacho seal key` makes a key")
	for _, wrong := range []string{`seals = "enforce"`, `publishers = ["alice"]`, fmt.Sprintf("publishers = [%q]", strings.TrimSpace(string(text)))} {
		s := newSite(t)
		s.replace("quick.toml", "[collector]\n", "[collector]\n"+wrong+"\n")
		s.refused(cli.ExitUsage, words("collector run near"), "collector.publishers")
		_, errs, _ := s.run("collector", "run", "near")
		if strings.Contains(errs, secret) {
			t.Error(errs)
		}
	}
	s.replace("quick.toml", "[collector]\n", fmt.Sprintf("[collector]\nseals = \"enforce\"\npublishers = [%q]\ndispatchers = [%q]\n", public, public))
	s.replace("quick.toml", "[scheduler]\n", fmt.Sprintf("seal_key = %q\n[scheduler]\n", file))
	if out, _, _ := s.run("doctor"); !strings.Contains(out, "seals with key "+public.ID) || !strings.Contains(out, "enforce; publishers "+public.ID+" (alice)") {
		t.Errorf("the doctor does not say it:\n%s", out)
	}
}
