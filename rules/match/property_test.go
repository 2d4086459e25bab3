package match_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// drawTerms draws terms that are often met by what drawOffer draws.
func drawTerms(t *rapid.T, label string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
		"os=linux", "os=linux,darwin", "arch=x86_64", "arch=aarch64,x86_64", "pool=p,q", "pool=p", "machine=a,b,c", "machine=b,c", "machine=a,b",
		"trait=x", "trait=y", "device=gpu", "device=gpu:2", "device=nic", "memory=1m", "memory=1g", "memory=3000m", "memory=4g", "cpus=1", "cpus=2",
		"cpus=4", "exclusive",
	}), 0, 5).Draw(t, label), " ")
}

func drawRequirement(t *rapid.T, label string) match.Requirement {
	r, err := match.Parse(strings.Fields(drawTerms(t, label)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func drawOffer(t *rapid.T) match.Offer {
	word := func(label string, words ...string) string { return rapid.SampledFrom(words).Draw(t, label) }
	some := func(label string, words ...string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(words), 0, len(words), rapid.ID).Draw(t, label)
	}
	return match.Offer{
		Machine: word("machine", "a", "b", "c"), Pool: word("pool", "", "p", "q"), OS: word("os", "linux", "darwin"), Arch: word("arch", "x86_64", "aarch64"),
		MemoryMiB: rapid.Int64Range(0, 9000).Draw(t, "memory"), CPUs: rapid.IntRange(0, 9).Draw(t, "cpus"),
		Devices: map[string]int{"gpu": rapid.IntRange(0, 3).Draw(t, "gpus"), "nic": rapid.IntRange(0, 2).Draw(t, "nics")},
		Traits:  some("traits", "x", "y"), Only: some("only", "x", "z"), Slots: rapid.IntRange(0, 5).Draw(t, "slots"),
	}
}

// What meets a joined requirement meets each of its parts. Only a rule of the machine may ask for the term of another part.
func TestJoiningNeverWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawRequirement(t, "a"), drawRequirement(t, "b")
		o := drawOffer(t)
		both, err := match.Join(match.Named{Requirement: a}, match.Named{Requirement: b})
		if err != nil {
			t.Fatal(err)
		}
		other, err := match.Join(match.Named{Requirement: b}, match.Named{Requirement: a})
		if other.String() != both.String() || err != nil {
			t.Fatalf("%q in the other order is %q, %v", both, other, err)
		}
		room := match.NewRoom(o)
		room.Reserve(drawRequirement(t, "open"))
		for _, part := range []match.Requirement{a, b} {
			lacks := slices.DeleteFunc(match.Lacks(part, events.Master, o), func(l match.Lack) bool { return l.Term == "only" })
			if len(match.Lacks(both, events.Master, o)) == 0 && len(lacks) > 0 {
				t.Fatalf("%q fits, and its part %q lacks %v", both, part, lacks)
			}
			if room.Fits(both) && !room.Fits(part) {
				t.Fatalf("there is room for %q and not for its part %q", both, part)
			}
			if match.Part(both, o) < match.Part(part, o) {
				t.Fatalf("%q takes less than its part %q", both, part)
			}
		}
	})
}

// A machine that lacks nothing has room when it is empty.
func TestAnEmptyMachineHasRoomForWhatItDoesNotLack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, o := drawRequirement(t, "r"), drawOffer(t)
		room := match.NewRoom(o)
		if room.Fits(r) != (len(room.Short(r)) == 0) {
			t.Fatalf("fits: %v, short of %v", room.Fits(r), room.Short(r))
		}
		if len(match.Lacks(r, events.Master, o)) == 0 && !room.Fits(r) {
			t.Fatalf("short of %v", room.Short(r))
		}
	})
}

// ledger is what a room should be: the open places, counted anew each time.
type ledger []match.Requirement

// taken adds up what the open places reserve.
func (l ledger) taken() (memory int64, cpus int, devices map[string]int, alone bool) {
	devices = map[string]int{}
	for _, r := range l {
		memory += r.MemoryMiB()
		cpus += r.CPUs()
		alone = alone || r.Exclusive()
		for _, term := range r.Terms() {
			if d, ok := strings.CutPrefix(term, "device="); ok {
				name, count, _ := match.ParseDevice(d)
				devices[name] += count
			}
		}
	}
	return memory, cpus, devices, alone
}

// within reports whether the machine has all that is reserved.
func (l ledger) within(o match.Offer) bool {
	memory, cpus, devices, alone := l.taken()
	for name, count := range devices {
		if count > o.Devices[name] {
			return false
		}
	}
	return memory <= o.MemoryMiB && cpus <= o.CPUs && len(l) <= max(o.Slots, 1) && (!alone || len(l) == 1)
}

// No machine is booked beyond its offer, all that is there can be booked, and what has ended leaves nothing behind.
func TestNoMachineIsBookedBeyondItsOffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawOffer(t)
		room := match.NewRoom(o)
		var open ledger
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			if len(open) > 0 && rapid.Bool().Draw(t, "end") {
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				room.Free(open[i])
				open = slices.Delete(open, i, i+1)
			} else {
				r := drawRequirement(t, "r")
				with := append(slices.Clone(open), r)
				if room.Fits(r) != with.within(o) || room.Fits(r) != (len(room.Short(r)) == 0) {
					t.Fatalf("%q beside %q: fits %v, short of %v", r, open, room.Fits(r), room.Short(r))
				}
				if room.Fits(r) {
					room.Reserve(r)
					open = with
				}
			}
			memory, _, _, alone := open.taken()
			free := o.MemoryMiB - memory
			if alone {
				free = 0
			}
			if room.Open() != len(open) || room.FreeMemoryMiB() != free {
				t.Fatalf("%d open, %d MiB free beside %q", room.Open(), room.FreeMemoryMiB(), open)
			}
		}
		for _, r := range open {
			room.Free(r)
		}
		if !reflect.DeepEqual(room, match.NewRoom(o)) {
			t.Fatalf("an empty machine has %+v", room)
		}
	})
}

// A log may hold what never fitted. Nothing gets below zero, and in the end nothing is left of it.
func TestOverbookedRoomsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		room := match.NewRoom(drawOffer(t))
		var open ledger
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			r := drawRequirement(t, "r")
			room.Reserve(r)
			open = append(open, r)
			room.SetOffer(drawOffer(t))
			if room.FreeMemoryMiB() < 0 {
				t.Fatal(room.FreeMemoryMiB())
			}
			for _, l := range room.Short(drawRequirement(t, "next")) {
				if strings.Contains(l.Words, "-") {
					t.Fatal(l)
				}
			}
		}
		o := drawOffer(t)
		room.SetOffer(o)
		for _, r := range rapid.Permutation(open).Draw(t, "ends") {
			room.Free(r)
		}
		room.Free(drawRequirement(t, "ended before"))
		if !reflect.DeepEqual(room, match.NewRoom(o)) {
			t.Fatalf("an empty machine has %+v", room)
		}
	})
}

// The nearest machine lacks no more than any other one, in any order of the machines.
func TestNearestDoesNotDependOnTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequirement(t, "r")
		var offers []match.Offer
		for _, name := range []string{"a", "b", "c", "d"} {
			o := drawOffer(t)
			o.Machine = name
			offers = append(offers, o)
		}
		nearest, lacks := match.Nearest(r, events.Master, offers)
		again, _ := match.Nearest(r, events.Master, rapid.Permutation(offers).Draw(t, "order"))
		if again.Machine != nearest.Machine {
			t.Fatalf("%s, and %s in another order", nearest.Machine, again.Machine)
		}
		for _, o := range offers {
			if n := len(match.Lacks(r, events.Master, o)); n < len(lacks) {
				t.Fatalf("%s lacks %d, %s lacks %d", nearest.Machine, len(lacks), o.Machine, n)
			}
		}
		if (match.Check("job", r, events.Master, offers) == nil) != (len(lacks) == 0) {
			t.Fatal("the check differs")
		}
	})
}
