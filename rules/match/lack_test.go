package match_test

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// eider is a machine that has some of everything.
func eider() match.Offer {
	return match.Offer{
		Machine: "eider-3", Pool: "big", OS: "linux", Arch: "x86_64", MemoryMiB: 32 << 10, CPUs: 16,
		Devices: map[string]int{"gpu": 2}, Traits: []string{"nvme", "vm"}, Slots: 4,
	}
}

func TestLacksOfAnEmptyMachine(t *testing.T) {
	for _, c := range []struct{ terms, lacks, sentence string }{
		{"", "", "it lacks nothing"},
		{"os=linux arch=x86_64,aarch64 pool=big machine=eider-3,eider-4", "", ""},
		{"trait=nvme trait=vm device=gpu:2 memory=32g cpus=16 exclusive", "", ""},
		{"memory=32769m", "memory=32769m", "it lacks 1 MiB of memory"},
		{"memory=40g", "memory=40g", "it lacks 8 GiB of memory"},
		{"cpus=17", "cpus=17", "it lacks 1 CPU"},
		{"cpus=20", "cpus=20", "it lacks 4 CPUs"},
		{"device=gpu:3", "device=gpu:3", "it lacks 1 gpu device"},
		{"device=nic:2", "device=nic:2", "it lacks 2 nic devices"},
		{"trait=ssd", "trait=ssd", "it lacks trait ssd"},
		{"trait=ssd trait=old memory=40g", "trait=old trait=ssd memory=40g", "it lacks trait old, trait ssd and 8 GiB of memory"},
		{"os=darwin", "os=darwin", "it has os linux, not darwin"},
		{"arch=riscv64,aarch64", "arch=aarch64,riscv64", "it has arch x86_64, not aarch64 or riscv64"},
		{"pool=small", "pool=small", "it is in pool big, not in small"},
		{"machine=a,b,c", "machine=a,b,c", "it is not a, b or c"},
		{"machine=a trait=ssd os=darwin", "machine=a os=darwin trait=ssd", "it lacks trait ssd; it is not a; it has os linux, not darwin"},
	} {
		lacks := match.Lacks(parse(t, c.terms), events.Master, eider())
		if got := terms(lacks); got != c.lacks {
			t.Errorf("%q: lacks %q, want %q", c.terms, got, c.lacks)
		}
		if got := match.Sentence(lacks); c.sentence != "" && got != c.sentence {
			t.Errorf("%q: %q, want %q", c.terms, got, c.sentence)
		}
	}
}

func terms(lacks []match.Lack) string {
	words := make([]string, len(lacks))
	for i, l := range lacks {
		words[i] = l.Term
	}
	return strings.Join(words, " ")
}

// What a machine does not state it does not have.
func TestWhatIsNotKnownIsLacking(t *testing.T) {
	unknown := match.Offer{Machine: "new"}
	lacks := match.Lacks(parse(t, "os=linux arch=x86_64 pool=big memory=1g cpus=1"), events.Master, unknown)
	want := "it does not state its arch; it does not state its os; it is in no pool, not in big; it does not state its memory; it does not state its CPUs"
	if got := match.Sentence(lacks); got != want {
		t.Error(got)
	}
	lacks = match.Lacks(parse(t, "machine=new exclusive"), events.Master, unknown)
	if len(lacks) > 0 {
		t.Error(lacks)
	}
}

func TestRulesOfAMachineAreNeverWidened(t *testing.T) {
	for _, c := range []struct {
		only     []string
		accepts  []events.RequestKind
		terms    string
		kind     events.RequestKind
		sentence string
	}{
		{nil, nil, "", events.Try, "it lacks nothing"},
		{nil, []events.RequestKind{events.Master}, "machine=eider-3", events.Try, "it accepts only master"},
		{nil, []events.RequestKind{events.Master, events.Release}, "", events.Try, "it accepts only master and release"},
		{nil, []events.RequestKind{events.Master, events.Release}, "", events.Release, "it lacks nothing"},
		{[]string{"fast"}, nil, "machine=eider-3 trait=nvme", events.Master, "it takes only jobs that require fast"},
		{[]string{"fast", "gpu"}, nil, "", events.Master, "it takes only jobs that require fast or gpu"},
		{[]string{"fast", "gpu"}, nil, "trait=gpu", events.Master, "it lacks nothing"},
		{[]string{"fast"}, []events.RequestKind{events.Master}, "trait=ssd", events.Try, "it lacks trait ssd; it takes only jobs that require fast; it accepts only master"},
	} {
		o := eider()
		o.Only, o.Accepts = c.only, c.accepts
		if got := match.Sentence(match.Lacks(parse(t, c.terms), c.kind, o)); got != c.sentence {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestNearestMachine(t *testing.T) {
	machines := map[string]match.Offer{
		"a": {Machine: "a", OS: "linux", MemoryMiB: 8 << 10, CPUs: 4, Traits: []string{"nvme"}},
		"b": {Machine: "b", OS: "linux", MemoryMiB: 16 << 10, CPUs: 4},
		"c": {Machine: "c", OS: "darwin", MemoryMiB: 16 << 10, CPUs: 2, Traits: []string{"nvme"}},
		"d": {Machine: "d", OS: "linux", MemoryMiB: 16 << 10, CPUs: 4},
		"e": {Machine: "e"},
	}
	for _, c := range []struct{ why, terms, offers, want string }{
		{"the fewest terms", "os=linux trait=nvme memory=32g", "c b a", "a"},
		{"the smallest shortfall", "memory=32g", "a b", "b"},
		{"relative, so half of the memory before all of a trait", "memory=16g trait=nvme", "b a", "a"},
		{"3/4 and 0 of 16 missing, or 1/2 and 3/4", "memory=32g cpus=16", "c a b", "b"},
		{"then the name", "memory=32g", "d b", "b"},
		{"what is not known comes last", "memory=32g", "e a", "a"},
		{"a machine that fits", "os=darwin", "a b c d e", "c"},
	} {
		var offers []match.Offer
		for _, name := range strings.Fields(c.offers) {
			offers = append(offers, machines[name])
		}
		got, lacks := match.Nearest(parse(t, c.terms), events.Master, offers)
		if got.Machine != c.want {
			t.Errorf("%s: %q, lacking %q", c.why, got.Machine, terms(lacks))
		}
	}
	none, lacks := match.Nearest(parse(t, ""), events.Master, nil)
	if none.Machine != "" || lacks != nil {
		t.Error(none, lacks)
	}
}

func TestAJobThatSomeMachineCouldRunIsPossible(t *testing.T) {
	r := parse(t, "memory=40g")
	big := eider()
	big.MemoryMiB = 64 << 10
	err := match.Check("compile/x86_64/0", r, events.Master, []match.Offer{eider(), big})
	if err != nil {
		t.Error(err)
	}
}
