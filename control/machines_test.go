package control

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nkeys"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// eider is a machine with this many slots.
func eider(slots int) NewMachine {
	return NewMachine{Name: "eider-3", Pool: "linux", OS: "linux", Arch: "amd64", Slots: slots}
}

func machineAdded(t testing.TB, c *Control, n NewMachine) MachineAnswer {
	t.Helper()
	answer, err := c.AddMachine(t.Context(), by, n)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func keys(t testing.TB, n int) []string {
	t.Helper()
	out := make([]string, n)
	for i := range out {
		key, err := nkeys.CreateUser()
		if err == nil {
			out[i], err = key.PublicKey()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// All of a machine is one append: what it offers, its collectors, and their lanes.
func TestAMachineComesWithItsCollectors(t *testing.T) {
	c, log := start(t)
	n := eider(2)
	n.NKeys = keys(t, 2)
	n.MemoryMiB, n.CPUs, n.Devices = new(int64(64<<10)), new(16), &map[string]int{"gpu": 2}
	n.Traits, n.Only, n.Accepts = &[]string{"nvme", "avx", "nvme"}, &[]string{"big"}, &[]events.RequestKind{"release", "master"}
	before := last(t, log)
	got := machineAdded(t, c, n)
	want := MachineAnswer{
		Answer: Answer{Seq: before + 5},
		Collectors: []SlotCollector{
			{"eider-3-1", events.Lane{Target: "pool_linux", Set: 0}}, {"eider-3-2", events.Lane{Target: "pool_linux", Set: 1}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	m, err := fold(t.Context(), log, events.MachineSubject("eider-3"), evolveMachine)
	described := &events.MachineDescribed{
		Machine: "eider-3", Pool: "linux", OS: "linux", Arch: "amd64", MemoryMiB: 64 << 10, CPUs: 16, Devices: map[string]int{"gpu": 2},
		Traits: []string{"avx", "nvme"}, Only: []string{"big"}, Accepts: []events.RequestKind{"master", "release"}, Slots: 2,
	}
	if diff := cmp.Diff(described, m.state.described); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for i, slot := range got.Collectors {
		known, err := c.Standing(t.Context(), slot.Name)
		registered := &events.CollectorRegistered{Name: slot.Name, Target: "pool_linux", Set: events.Set(i), OS: "linux", Arch: "amd64", NKey: n.NKeys[i], Machine: "eider-3"}
		if diff := cmp.Diff(registered, known.Registered); diff != "" || err != nil || !known.Takes() {
			t.Error(diff, err, known)
		}
		serving, err := fold(t.Context(), log, events.AssignmentSubject(slot.Lane), evolveAssignment)
		if err != nil || serving.state.Serving != slot.Name {
			t.Errorf("lane %s is served by %q (%v)", slot.Lane, serving.state.Serving, err)
		}
	}
	again := machineAdded(t, c, n)
	if !again.Existed || !cmp.Equal(again.Collectors, want.Collectors) || last(t, log) != before+5 {
		t.Errorf("again: %+v", again)
	}
	n.CPUs = new(8)
	_, err = c.AddMachine(t.Context(), by, n)
	refused(t, err, Conflict, "cpus 8 instead of 16. To change it, use `tacho machine set eider-3`")
	n.Slots, n.NKeys = 1, nil
	_, err = c.AddMachine(t.Context(), by, n)
	refused(t, err, Conflict, "slots 1 instead of 2. Pool, OS, architecture and slots of a machine never change")
}

func TestWrongMachinesAreRefusedAndLeaveNothing(t *testing.T) {
	c, log := start(t)
	taken := keys(t, 1)[0]
	if _, err := c.AddCollector(t.Context(), by, NewCollector{Name: "eider-2-2", Target: "here", NKey: taken}); err != nil {
		t.Fatal(err)
	}
	c.KeyHolder = holderOf(taken, "eider-2-2")
	machineAdded(t, c, NewMachine{Name: "gone", Pool: "linux", OS: "linux", Arch: "amd64"})
	if _, err := c.RemoveCollector(t.Context(), by, "gone", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RemoveMachine(t.Context(), by, "gone", ""); err != nil {
		t.Fatal(err)
	}
	many := map[string]int{}
	words := make([]string, maxWords+1)
	for i := range words {
		words[i] = fmt.Sprint("w", i)
		many[words[i]] = 1
	}
	before := last(t, log)
	for name, tc := range map[string]struct {
		change func(*NewMachine)
		kind   RefusalKind
		says   string
	}{
		"no name":          {func(n *NewMachine) { n.Name = "" }, Invalid, `machine ""`},
		"a wrong name":     {func(n *NewMachine) { n.Name = "Eider 3" }, Invalid, `machine "Eider 3"`},
		"a long name":      {func(n *NewMachine) { n.Name, n.Slots = events.MachineName(strings.Repeat("e", 63)), 2 }, Invalid, "its collectors have the name of the machine and a number"},
		"no pool":          {func(n *NewMachine) { n.Pool = "" }, Invalid, `pool ""`},
		"a long pool":      {func(n *NewMachine) { n.Pool = events.PoolName(strings.Repeat("p", 60)) }, Invalid, "use at most 59"},
		"no system":        {func(n *NewMachine) { n.OS = "" }, Invalid, `os ""`},
		"no architecture":  {func(n *NewMachine) { n.Arch = "" }, Invalid, `arch ""`},
		"negative slots":   {func(n *NewMachine) { n.Slots = -1 }, Invalid, "slots -1: use a number from 1 to 64"},
		"many slots":       {func(n *NewMachine) { n.Slots = 65 }, Invalid, "slots 65"},
		"no memory":        {func(n *NewMachine) { n.MemoryMiB = new(int64(0)) }, Invalid, "memory_mib 0: use a number from 1 to"},
		"negative memory":  {func(n *NewMachine) { n.MemoryMiB = new(int64(-1)) }, Invalid, "memory_mib -1"},
		"too much memory":  {func(n *NewMachine) { n.MemoryMiB = new(int64(1 << 50)) }, Invalid, "to 67108864"},
		"no CPUs":          {func(n *NewMachine) { n.CPUs = new(0) }, Invalid, "cpus 0: use a number from 1 to 65536"},
		"no devices":       {func(n *NewMachine) { n.Devices = &map[string]int{"gpu": 0} }, Invalid, "0 devices gpu: use a number from 1"},
		"a wrong device":   {func(n *NewMachine) { n.Devices = &map[string]int{"GPU": 1} }, Invalid, `device "GPU"`},
		"many devices":     {func(n *NewMachine) { n.Devices = &many }, Invalid, "33 names of devices: use at most 32"},
		"many traits":      {func(n *NewMachine) { n.Traits = &words }, Invalid, "traits: 33 traits: use at most 32"},
		"a wrong trait":    {func(n *NewMachine) { n.Only = &[]string{"a b"} }, Invalid, `only: trait "a b"`},
		"an unknown kind":  {func(n *NewMachine) { n.Accepts = &[]events.RequestKind{"nightly"} }, Invalid, "use master, try or release"},
		"too few keys":     {func(n *NewMachine) { n.NKeys = keys(t, 1) }, Invalid, "1 nkey for 2 slots"},
		"no key":           {func(n *NewMachine) { n.NKeys = []string{"a", "b"} }, Invalid, `"a" is not the public key`},
		"one key twice":    {func(n *NewMachine) { n.NKeys = append(keys(t, 1), taken, taken)[1:] }, Invalid, "is given twice"},
		"another's key":    {func(n *NewMachine) { n.NKeys = append(keys(t, 1), taken) }, Conflict, "is or was that of collector eider-2-2"},
		"another's name":   {func(n *NewMachine) { n.Name = "eider-2" }, Conflict, "there is or was a collector eider-2-2"},
		"a removed one":    {func(n *NewMachine) { n.Name = "gone" }, Conflict, "machine gone was removed"},
		"a name of a slot": {func(n *NewMachine) { n.Name, n.Slots = "eider-2-2", 1 }, Conflict, "give machine eider-2-2 another name"},
	} {
		t.Run(name, func(t *testing.T) {
			n := eider(2)
			tc.change(&n)
			_, err := c.AddMachine(t.Context(), by, n)
			refused(t, err, tc.kind, tc.says)
		})
	}
	_, err := c.SetMachine(t.Context(), by, "gone", MachineChange{})
	refused(t, err, Conflict, "machine gone was removed")
	_, err = c.SetMachine(t.Context(), by, "nothing", MachineChange{})
	refused(t, err, NotFound, "there is no machine nothing")
	_, err = c.RemoveMachine(t.Context(), by, "nothing", "")
	refused(t, err, NotFound, "there is no machine nothing")
	_, err = c.RemoveMachine(t.Context(), by, "A b", "")
	refused(t, err, Invalid, `machine "A b"`)
	_, err = c.RemoveMachine(t.Context(), by, "gone", strings.Repeat("x", maxReason+1))
	refused(t, err, Invalid, "use at most 1024")
	_, err = c.AddCollector(t.Context(), by, NewCollector{Name: "x", Target: "pool_linux"})
	refused(t, err, Invalid, "use `tacho machine add`")
	d := definitions()
	d.Targets[0].Name = "pool_linux"
	_, err = c.Publish(t.Context(), by, d)
	refused(t, err, Invalid, "names that begin with pool_ are those of pools")
	if last(t, log) != before {
		t.Error("something was recorded")
	}
}

func TestAMachineIsChangedAndRemoved(t *testing.T) {
	c, log := start(t)
	machineAdded(t, c, eider(2))
	set := func(change MachineChange) Answer {
		t.Helper()
		answer, err := c.SetMachine(t.Context(), by, "eider-3", change)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	change := MachineChange{MemoryMiB: new(int64(4096)), Traits: &[]string{"nvme"}, Devices: &map[string]int{"gpu": 1}}
	if set(change).Existed || !set(change).Existed || !set(MachineChange{}).Existed {
		t.Error("a change is recorded once")
	}
	set(MachineChange{Traits: &[]string{}, CPUs: new(4), Accepts: &[]events.RequestKind{"try"}})
	m, err := fold(t.Context(), log, events.MachineSubject("eider-3"), evolveMachine)
	want := &events.MachineDescribed{
		Machine: "eider-3", Pool: "linux", OS: "linux", Arch: "amd64", Slots: 2, MemoryMiB: 4096, CPUs: 4, Devices: map[string]int{"gpu": 1}, Accepts: []events.RequestKind{"try"},
	}
	if diff := cmp.Diff(want, m.state.described); diff != "" || err != nil {
		t.Error(diff, err)
	}
	_, err = c.SetMachine(t.Context(), by, "eider-3", MachineChange{CPUs: new(-4)})
	refused(t, err, Invalid, "cpus -4")

	_, err = c.RemoveMachine(t.Context(), by, "eider-3", "")
	refused(t, err, Conflict, "machine eider-3 has active collectors: first `tacho collector deactivate` or `tacho collector remove` eider-3-1, eider-3-2")
	if _, err := c.RemoveCollector(t.Context(), by, "eider-3-1", ""); err != nil {
		t.Fatal(err)
	}
	_, err = c.RemoveMachine(t.Context(), by, "eider-3", "")
	refused(t, err, Conflict, "`tacho collector remove` eider-3-2")
	if _, err := c.DeactivateCollector(t.Context(), by, "eider-3-2", Deactivation{}); err != nil {
		t.Fatal(err)
	}
	for _, existed := range []bool{false, true} {
		if answer, err := c.RemoveMachine(t.Context(), by, "eider-3", "sold"); err != nil || answer.Existed != existed {
			t.Errorf("%+v %v", answer, err)
		}
	}
	_, err = c.ActivateCollector(t.Context(), by, "eider-3-2")
	refused(t, err, Conflict, "was removed")
	got := machineAdded(t, c, NewMachine{Name: "eider-4", Pool: "linux", OS: "linux", Arch: "amd64"})
	if want := events.PoolLane("linux", 2); got.Collectors[0] != (SlotCollector{"eider-4", want}) {
		t.Errorf("the lanes of the removed machine are not used again: %+v", got)
	}
}

// An activation at the same moment is not lost: the machine stays, or the collector is gone.
func TestAMachineIsNotRemovedUnderACollector(t *testing.T) {
	c, log := start(t)
	machineAdded(t, c, eider(1))
	if _, err := c.DeactivateCollector(t.Context(), by, "eider-3", Deactivation{}); err != nil {
		t.Fatal(err)
	}
	late := copyOf(c)
	late.Log = &hasty{log, func() {
		if _, err := c.ActivateCollector(t.Context(), by, "eider-3"); err != nil {
			t.Error(err)
		}
	}}
	_, err := late.RemoveMachine(t.Context(), by, "eider-3", "")
	refused(t, err, Conflict, "has active collectors")
}

// The collectors of slots obey the commands for collectors.
func TestTheCollectorOfASlotIsACollector(t *testing.T) {
	c, _ := start(t)
	machineAdded(t, c, eider(1))
	for _, do := range []func() (Answer, error){
		func() (Answer, error) { return c.DrainCollector(t.Context(), by, "eider-3", "new kernel") },
		func() (Answer, error) { return c.ActivateCollector(t.Context(), by, "eider-3") },
		func() (Answer, error) {
			return c.DeactivateCollector(t.Context(), by, "eider-3", Deactivation{Now: true})
		},
		func() (Answer, error) { return c.ActivateCollector(t.Context(), by, "eider-3") },
		func() (Answer, error) { return c.RotateKey(t.Context(), by, "eider-3", keys(t, 1)[0], "") },
	} {
		if answer, err := do(); err != nil || answer.Existed {
			t.Errorf("%+v %v", answer, err)
		}
	}
	known, err := c.Standing(t.Context(), "eider-3")
	if err != nil || !known.Takes() || known.Registered.Machine != "eider-3" || known.Registered.Lane() != events.PoolLane("linux", 0) {
		t.Errorf("%+v %v", known, err)
	}
	_, err = c.AddCollector(t.Context(), by, NewCollector{Name: "s", Target: "pool_linux", Standby: true})
	refused(t, err, Invalid, "those of pools")
}

// Fifty people add machines to one pool at once: no lane is given twice, and none is left out.
func TestLanesOfAPoolAreGivenOnce(t *testing.T) {
	const people = 50
	c, _ := start(t)
	var mu sync.Mutex
	lanes := map[events.Lane]events.CollectorName{}
	slots := 0
	var all sync.WaitGroup
	for i := range people {
		all.Go(func() {
			n := eider(i%3 + 1)
			n.Name = events.MachineName(fmt.Sprint("eider-", i))
			answer, err := c.AddMachine(t.Context(), by, n)
			for busy := (*eventlog.BusyError)(nil); errors.As(err, &busy); {
				answer, err = c.AddMachine(t.Context(), by, n)
			}
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			slots += n.Slots
			for _, made := range answer.Collectors {
				lanes[made.Lane] = made.Name
			}
		})
	}
	all.Wait()
	for n := range slots {
		delete(lanes, events.PoolLane("linux", n))
	}
	if len(lanes) > 0 {
		t.Errorf("lanes that are not among the first %d: %v", slots, maps.Collect(maps.All(lanes)))
	}
}

// The first free lane of a pool is found among many, with few reads.
func TestAFreeLaneIsFoundByHalving(t *testing.T) {
	c, log := start(t)
	counting := &counted{Log: log}
	other := copyOf(c)
	other.Log = counting
	for i := range 40 {
		n := eider(MaxSlots)
		n.Name = events.MachineName(fmt.Sprint("eider-", i))
		machineAdded(t, other, n)
	}
	n := eider(1)
	n.Name = "auk"
	counting.lasts = 0
	got := machineAdded(t, other, n)
	if got.Collectors[0].Lane != events.PoolLane("linux", 40*MaxSlots) || counting.lasts > 30 {
		t.Errorf("%+v after %d reads", got, counting.lasts)
	}
}
