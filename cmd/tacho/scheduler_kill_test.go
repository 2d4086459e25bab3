package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/events"
)

// builtSuite has a build and jobs on two lanes that use what was built. One checks that it is whole.
const builtSuite = `version = 2
name = "naps"
primary_target = "here"
sources = { root = "file" }
defaults = { iterations = 1, timeout = "1m" }
categories = { master = ["primary"], try = ["primary"], release = ["primary"] }
profile = [{ name = "quick" }]
backend = [{ name = "any" }]
scenario = [{ name = "full", cache = "none" }]
metric = [{ name = "page-faults", unit = "count", class = "count", better = "lower" }]

[artifact]
kind = "built"
repository = "{{dir}}/repository"
driver = "command"

[[target]]
name = "here"
sets = 2
os = "{{os}}"
arch = "{{arch}}"

[[kind]]
name = "build"
does = "build"
profile = "quick"
steps = [["sh", "build.sh"]]
outputs = [{ name = "program", paths = ["out"] }]

[[kind]]
name = "run"
per_set = true
profile = "quick"
needs = [{ kind = "build", output = "program" }]

[[benchmark]]
name = "size"
category = "primary"
kind = "run"
source = "nap"
sets = { here = 0 }
command = ["/bin/sh", "-c", "cd {artifact} && cat sum"]

[[benchmark]]
name = "check"
category = "primary"
kind = "run"
source = "nap"
sets = { here = 1 }
command = ["/bin/sh", "-c", "cd {artifact} && sha256sum -c sum"]
`

// onTheWay are the steps of an output from the request for it to its use, in their order.
var onTheWay = []string{
	"the jobs are made", "the build is dispatched", "the build begins", "half of it is stored", "it is stored", "it is said",
	"the build ends", "its user is dispatched", "its user begins", "its user ends",
}

// step returns which step a message of NATS is; empty for another one.
func step(m *nats.Msg) string {
	switch {
	case strings.HasPrefix(m.Subject, "tacho.blob.chunk.") && strings.HasSuffix(m.Subject, ".8"):
		return "half of it is stored"
	case strings.HasPrefix(m.Subject, "tacho.blob.out."):
		return "it is stored"
	case m.Header.Get(events.HeaderType) == "":
		return ""
	}
	header := map[string]string{}
	for name := range m.Header {
		header[name] = m.Header.Get(name)
	}
	e, err := events.Decode(events.Stored{Subject: events.Subject(m.Subject), Header: header, Data: m.Data})
	if err != nil {
		return ""
	}
	of := func(built bool, build, run string) string {
		if built {
			return build
		}
		return run
	}
	// The others are no steps.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.JobsCreated:
		return "the jobs are made"
	case events.JobDispatched:
		return of(f.Job.Kind == "build", "the build is dispatched", "its user is dispatched")
	case events.JobDequeued:
		return of(f.Job.Kind == "build", "the build begins", "its user begins")
	case events.OutputStored:
		return "it is said"
	case events.JobFinished:
		return of(f.Measured == 0, "the build ends", "its user ends")
	case events.RequestCompleted, events.RequestFailed:
		return "over"
	}
	return ""
}

// The scheduler is a process of its own, and is killed at each step of an output's way, once at least, while real builders
// build, store, fetch and use it. Every request completes, each job ran once, and what was used was whole.
func TestKillingTheSchedulerAtEachStep(t *testing.T) {
	t.Parallel()
	var dir string
	f := newServers(t, func(s *site) {
		dir = s.dir
		text := strings.NewReplacer("{{dir}}", dir, "{{os}}", runtime.GOOS, "{{arch}}", runtime.GOARCH).Replace(builtSuite)
		if err := os.WriteFile(filepath.Join(dir, "naps.toml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	})
	f.serve("projector,watchdog,website")
	f.join("near", 0)
	// With the same directory it would find the output without fetching it.
	f.join("far", 1, "--credentials", f.home().CredentialsFile("far"), "--data", t.TempDir())
	nc, err := nats.Connect("nats://core:s3cret@" + f.address)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	seen := make(chan string, 1<<16)
	sub, err := nc.Subscribe(">", func(m *nats.Msg) {
		if name := step(m); name != "" {
			seen <- name
		}
	})
	if err == nil {
		err = sub.SetPendingLimits(-1, -1)
	}
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, name := range onTheWay {
		missing[name] = true
	}
	scheduler := f.begin("serve", "scheduler")
	requests := 0
	for ; len(missing) > 0; requests++ {
		if requests == 2*len(onTheWay) {
			t.Fatalf("the scheduler was never killed when %v", missing)
		}
		f.must("request", "master", f.commit(dir, requests))
		for over := false; !over; {
			var name string
			select {
			case name = <-seen:
			case <-time.After(time.Minute):
				t.Fatalf("request %d does not end; missing are %v", requests, missing)
			}
			over = name == "over"
			// A scheduler that was killed before it serves was not killed at this step: a later request comes to it again.
			if missing[name] && strings.Contains(scheduler.log.String(), "serving    ") {
				f.kill(scheduler.cmd.Process.Pid, "the scheduler when "+name)
				<-scheduler.ended
				delete(missing, name)
				scheduler = f.begin("serve", "scheduler")
			}
		}
	}
	ended, completed := map[events.JobID]int{}, 0
	for _, e := range f.events() {
		// The others are of no account.
		//exhaustive:ignore
		switch fact := e.Fact.(type) {
		case events.JobFinished:
			if ended[fact.JobID]++; ended[fact.JobID] > 1 || fact.Outcome != events.Success {
				t.Errorf("event %d: %+v", e.Seq, fact)
			}
		case events.AttemptLost, events.AttemptReleased, events.CollectorSilent:
			t.Errorf("event %d: %+v", e.Seq, fact)
		case events.RequestCompleted:
			completed++
		}
	}
	if completed != requests || len(ended) != 3*requests {
		t.Errorf("%d of %d requests completed, %d jobs ended", completed, requests, len(ended))
	}
	t.Logf("%d kills in %d requests", len(onTheWay), requests)
}

// commit makes a commit whose build yields some megabytes that no other one yields, and returns it.
func (s *site) commit(dir string, n int) string {
	s.t.Helper()
	script := fmt.Sprintf(`mkdir -p repository && cd repository && git init -q -b main
cat > build.sh <<'END'
mkdir out
head -c 12000000 /dev/urandom > out/data
cd out && sha256sum data > sum
END
echo %d > number
git add -A && git -c user.name=me -c user.email=me@example.org -c commit.gpgsign=false commit -q -m %[1]d && git rev-parse HEAD`, n)
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = dir, append(s.env, "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}
