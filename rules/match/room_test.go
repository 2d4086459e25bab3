package match_test

import (
	"testing"

	"github.com/tachobench/tacho/rules/match"
)

func TestRoomBesideOpenPlaces(t *testing.T) {
	for _, c := range []struct {
		open     []string
		terms    string
		sentence string
	}{
		{nil, "memory=32g cpus=16 device=gpu:2", "it lacks nothing"},
		{nil, "exclusive memory=32g", "it lacks nothing"},
		{[]string{"memory=24g"}, "memory=8g", "it lacks nothing"},
		{[]string{"memory=24g"}, "memory=8193m", "it lacks 1 MiB of free memory"},
		{[]string{"memory=24g", "memory=8g"}, "memory=1g", "it lacks 1 GiB of free memory"},
		{[]string{"memory=24g", "memory=8g"}, "cpus=2", "it lacks nothing"},
		{[]string{"cpus=10", "cpus=4"}, "cpus=3", "it lacks 1 free CPU"},
		{[]string{"device=gpu"}, "device=gpu", "it lacks nothing"},
		{[]string{"device=gpu", "device=gpu"}, "device=gpu:2", "it lacks 2 free gpu devices"},
		{[]string{"cpus=12 memory=30g"}, "cpus=5 memory=3g", "it lacks 1 GiB of free memory and 1 free CPU"},
		{[]string{"exclusive"}, "", "it is held by a job that runs alone"},
		{[]string{"exclusive"}, "exclusive", "it is held by a job that runs alone"},
		{[]string{""}, "exclusive", "it has 1 job, and this one runs alone"},
		{[]string{"", "cpus=1"}, "exclusive cpus=16", "it has 2 jobs, and this one runs alone"},
		{[]string{"", "", ""}, "", "it lacks nothing"},
		{[]string{"", "", "", ""}, "", "it has no free slot"},
		{[]string{"", "", "", "cpus=16"}, "cpus=1", "it lacks 1 free CPU; it has no free slot"},
		{nil, "memory=40g", "it lacks 8 GiB of free memory"},
	} {
		room := match.NewRoom(eider())
		for _, terms := range c.open {
			room.Reserve(parse(t, terms))
		}
		r := parse(t, c.terms)
		if got := match.Sentence(room.Short(r)); got != c.sentence || room.Fits(r) != (c.sentence == "it lacks nothing") {
			t.Errorf("%q beside %q: %q, fits: %v", c.terms, c.open, got, room.Fits(r))
		}
		if room.Open() != len(c.open) {
			t.Errorf("%d places are open", room.Open())
		}
	}
}

func TestFreeMemory(t *testing.T) {
	room := match.NewRoom(eider())
	part, alone := parse(t, "memory=10g"), parse(t, "exclusive")
	room.Reserve(part)
	if got := room.FreeMemoryMiB(); got != 22<<10 {
		t.Error(got)
	}
	room.Free(part)
	room.Reserve(alone)
	if got := room.FreeMemoryMiB(); got != 0 {
		t.Error(got)
	}
	room.Free(alone)
	if got := room.FreeMemoryMiB(); got != 32<<10 {
		t.Error(got)
	}
}

// A machine that is described anew with less than is reserved has no room until enough has ended.
func TestAMachineThatShrinks(t *testing.T) {
	room := match.NewRoom(eider())
	half, one := parse(t, "memory=16g cpus=8 device=gpu"), parse(t, "memory=1g cpus=1 device=gpu")
	room.Reserve(half)
	room.Reserve(half)
	small := eider()
	small.MemoryMiB, small.CPUs, small.Devices = 20<<10, 10, map[string]int{"gpu": 1}
	room.SetOffer(small)
	want := "it lacks 1 free gpu device, 1 GiB of free memory and 1 free CPU"
	if got := match.Sentence(room.Short(one)); room.Fits(one) || room.FreeMemoryMiB() != 0 || got != want {
		t.Error(room.Fits(one), room.FreeMemoryMiB(), got)
	}
	room.Free(half)
	if room.Fits(one) || room.FreeMemoryMiB() != 4<<10 {
		t.Error(room.FreeMemoryMiB())
	}
	room.Free(half)
	if !room.Fits(one) {
		t.Error(match.Sentence(room.Short(one)))
	}
}

func TestFreeOfWhatIsNotReservedChangesNothing(t *testing.T) {
	room := match.NewRoom(eider())
	room.Reserve(parse(t, "memory=10g"))
	room.Free(parse(t, "memory=11g"))
	room.Free(parse(t, "exclusive"))
	if room.Open() != 1 || room.FreeMemoryMiB() != 22<<10 {
		t.Error(room.Open(), room.FreeMemoryMiB())
	}
}

func TestPartOfAMachine(t *testing.T) {
	for _, c := range []struct {
		terms string
		slots int
		want  int
	}{
		{"", 1, 1024},
		{"", 0, 1024},
		{"", 4, 256},
		{"", 3, 342},
		{"memory=8g", 4, 256},
		{"memory=8193m", 4, 257},
		{"memory=16g", 4, 512},
		{"memory=16g cpus=12", 4, 768},
		{"memory=32g", 4, 1024},
		{"memory=64g", 4, 1024},
		{"memory=1m", 64, 16},
		{"memory=1m", 5000, 1},
		{"exclusive", 64, 1024},
		{"device=gpu:2", 64, 16},
	} {
		o := eider()
		o.Slots = c.slots
		if got := match.Part(parse(t, c.terms), o); got != c.want {
			t.Errorf("%q of %d slots: %d, want %d", c.terms, c.slots, got, c.want)
		}
	}
	if got := match.Part(parse(t, "memory=8g cpus=4"), match.Offer{Slots: 8}); got != 128 {
		t.Errorf("of a machine whose size is not known: %d", got)
	}
}
