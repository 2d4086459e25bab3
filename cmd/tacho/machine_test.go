package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// The commands of docs/sharing.md about machines, and what they refuse.
func TestMachinesOfAPool(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.replace("naps.toml", "[[profile]]\nname = \"quick\"", "[[kind]]\nname = \"build\"\nlanes = \"any\"\nprofile = \"quick\"\nshared = true\nrequires = [\"memory=8g\"]\n\n[[profile]]\nname = \"quick\"")
	s.start()
	s.refused(cli.ExitRefused, words("request master v1"), "no machine can run build/here/0: none is registered for matched jobs, add one: tacho machine add")
	if out := s.must("machine", "list"); !strings.Contains(out, "No machine of a pool is registered") {
		t.Error(out)
	}
	out := s.must(words("machine add eider-3 --pool linux --slots 2 --memory 64g --cpus 16 --device gpu:2 --trait nvme")...)
	for _, want := range []string{"with 2 collectors", "run `tacho collector run eider-3-1` for lane pool_linux/0", "credentials/eider-3-2.json"} {
		if !strings.Contains(out, want) {
			t.Errorf("machine add lacks %q: %s", want, out)
		}
	}
	for line, want := range map[string]string{
		"machine add eider-3 --pool linux --slots 2 --memory 32g":    "memory_mib 32768 instead of 65536; cpus none instead of 16; devices none instead of gpu:2; traits none instead of nvme. To change it, use `tacho machine set eider-3`",
		"machine remove eider-3":                                     "has active collectors",
		"collector add x --target nothing":                           "",
		"request master v1 --require memory=72g --require trait=avx": "no machine can run build/here/0: eider-3 comes nearest, it lacks trait avx and 8 GiB of memory",
		"request master v1 --require os=plan9":                       "they exclude one another",
	} {
		code := cli.ExitRefused
		if strings.HasPrefix(line, "collector add") {
			code, want = cli.ExitUsage, "no published definitions have lane nothing/0"
		}
		s.refused(code, words(line), want)
	}
	s.refused(cli.ExitUsage, words("collector add x --target pool_linux"), "tacho machine add")
	s.refused(cli.ExitUsage, words("request master v1 --require memory=8q"), "write memory=8 or memory=8g")

	s.must(words("machine set eider-3 --memory 48g --only big")...)
	s.refused(cli.ExitRefused, words("request master v1"), "it takes only jobs that require big")
	s.must(words("queue set bisect --require pool=linux --require trait=big")...)
	s.must(words("request master v1 --queue bisect")...)
	s.must(words("request master v2 --require trait=big --require machine=eider-3,eider-4")...)
	s.refused(cli.ExitRefused, words("request master v3 --queue bisect --require pool=mac"), "pool=linux (queue bisect) and pool=mac (the request): they exclude one another")
	for line, want := range map[string]string{
		"machine list": "eider-3  linux  0 of 2", "machine show eider-3": "48 GiB", "queue list": "pool=linux trait=big", "request show v2": "machine=eider-3,eider-4 trait=big",
		"events tail -n 50": "machine eider-3 of pool linux",
	} {
		if out := s.must(words(line)...); !strings.Contains(out, want) {
			t.Errorf("tacho %s lacks %q:\n%s", line, want, out)
		}
	}
	s.must("collector", "rotate", "eider-3-1")
	s.must("collector", "deactivate", "eider-3-1")
	s.refused(cli.ExitRefused, words("machine remove eider-3"), "`tacho collector remove` eider-3-2")
	s.must("collector", "remove", "eider-3-2")
	s.must("machine", "remove", "eider-3", "--reason", "sold")
	s.refused(cli.ExitRefused, words("collector activate eider-3-1"), "was removed")
	s.refused(cli.ExitRefused, words("machine add eider-3 --pool linux"), "machine eider-3 was removed")
	s.must("replay", "--verify")
}

// A request is measured on machines of a pool, by collectors that were added with them.
func TestMatchedJobsRunOnAPool(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.patient()
	s.replace("naps.toml", "backfill = true", "lanes = \"any\"\nshared = true\nrequires = [\"pool=linux\"]")
	s.start("--collectors", "0")
	s.must(words("machine add plain --pool linux")...)
	s.must(words("machine add eider --pool linux --slots 2 --memory 1g --cpus 1 --trait nvme")...)
	for _, name := range []string{"plain", "eider-1", "eider-2"} {
		s.begin("collector", "run", name)
	}
	s.must(words("request master v1 --require trait=nvme --wait")...)
	jobs := 0
	for _, e := range s.events() {
		if f, ok := e.Fact.(events.JobDequeued); ok {
			if jobs++; f.Collector != "eider-1" && f.Collector != "eider-2" {
				t.Errorf("%s ran a job that requires %v", f.Collector, f.Job.Requires)
			}
		}
	}
	if jobs == 0 {
		t.Error("no job ran")
	}
	s.must("replay", "--verify")
}

// Many people add machines to one pool at once, with a real log.
func TestManyMachinesAtOnce(t *testing.T) {
	t.Parallel()
	const people, lanesWanted = 20, 6*6 + 1 + 2
	s := newSite(t)
	s.start()
	c, _ := s.client()
	var all sync.WaitGroup
	for i := range people {
		all.Go(func() {
			n := control.NewMachine{Name: events.MachineName(fmt.Sprint("eider-", i)), Pool: "linux", OS: "linux", Arch: "amd64", Slots: i%3 + 1}
			made, err := c.AddMachine(t.Context(), n)
			for busy := (*client.Error)(nil); errors.As(err, &busy) && busy.Status == http.StatusServiceUnavailable; {
				made, err = c.AddMachine(t.Context(), n)
			}
			if err != nil || len(made.Collectors) != n.Slots {
				t.Errorf("%+v %v", made, err)
			}
		})
	}
	all.Wait()
	var list readmodel.Machines
	s.eventually("the tables have all machines", 2*time.Minute, func() bool {
		if err := json.Unmarshal([]byte(s.must("machine", "list", "--json")), &list); err != nil {
			t.Fatal(err)
		}
		return len(list.Machines) == people
	})
	lanes := map[events.Lane]bool{}
	for _, m := range list.Machines {
		for _, slot := range m.Collectors {
			lanes[slot.Lane] = true
		}
	}
	for n := range lanesWanted {
		if !lanes[events.PoolLane("linux", n)] {
			t.Errorf("lane %d of the pool was left out", n)
		}
	}
	if len(list.Machines) != people || len(lanes) != lanesWanted {
		t.Errorf("%d machines with %d lanes, want %d with %d", len(list.Machines), len(lanes), people, lanesWanted)
	}
}
