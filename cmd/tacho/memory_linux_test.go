package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// A job that reserves all memory of this host never finds it free. It goes back into the line each time, and no attempt is
// lost. Once the machine offers less, jobs that fit run.
func TestAJobThatReservesAllMemory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.patient()
	s.replace("naps.toml", "backfill = true", "lanes = \"any\"\nshared = true\nrequires = [\"pool=linux\"]")
	s.start("--collectors", "0")
	s.must(words("machine add eider --pool linux")...)
	s.begin("collector", "run", "eider")
	var m readmodel.Machine
	s.eventually("the size of the host", time.Minute, func() bool {
		return json.Unmarshal([]byte(s.must(words("machine show eider --json")...)), &m) == nil && m.MemoryMiB > 0
	})
	s.must("request", "master", "v1", "--require", fmt.Sprintf("memory=%dm", m.MemoryMiB))
	var released []events.AttemptReleased
	var moved []events.JobMoved
	s.eventually("a job that comes back", time.Minute, func() bool {
		released, moved = nil, nil
		for _, e := range s.events() {
			//exhaustive:ignore
			switch f := e.Fact.(type) {
			case events.AttemptReleased:
				released = append(released, f)
			case events.JobMoved:
				moved = append(moved, f)
			}
		}
		return len(moved) > 0
	})
	if full := released[0].HostFull; full == nil || full.ReservedMiB != m.MemoryMiB || full.FreeMiB <= 0 || full.FreeMiB >= m.MemoryMiB {
		t.Errorf("given back as %+v of %d MiB", full, m.MemoryMiB)
	}
	if f := moved[0]; f.Lost != 0 || !strings.Contains(f.Reason, "machine eider had ") || len(moved) > 1 {
		t.Errorf("moved as %+v", moved)
	}
	if out := s.must("events", "tail", "-n", "50"); !strings.Contains(out, "MiB of memory free, and the job reserves") {
		t.Errorf("events tail says %s", out)
	}
	s.must("request", "cancel", "v1")
	s.must("replay", "--verify")
	s.must(words("machine set eider --memory 256m")...)
	s.must(words("request master v2 --require memory=128m --wait")...)
}
