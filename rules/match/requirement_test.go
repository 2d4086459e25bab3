package match_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tachobench/tacho/rules/match"
)

func named(t testing.TB, who, terms string) match.Named {
	return match.Named{Who: who, Requirement: parse(t, terms)}
}

// What the definition, the target, the queue and the request ask for must all hold.
func TestAllPartsOfAJobAreJoined(t *testing.T) {
	for _, c := range []struct{ kind, target, queue, request, want string }{
		{"", "", "", "", ""},
		{"exclusive", "os=linux arch=x86_64", "", "", "arch=x86_64 exclusive os=linux"},
		{"memory=8g cpus=2", "", "memory=4g", "memory=2g cpus=4", "cpus=4 memory=8g"},
		{"trait=nvme", "", "trait=ssd", "trait=nvme", "trait=nvme trait=ssd"},
		{"device=gpu", "", "", "device=gpu:2 device=nic", "device=gpu:3 device=nic"},
		{"machine=a,b,c", "", "machine=b,c,d", "machine=c,d,a", "machine=c"},
		{"pool=big", "arch=x86_64,aarch64", "", "arch=aarch64", "arch=aarch64 pool=big"},
	} {
		r, err := match.Join(named(t, "kind compile", c.kind), named(t, "target t", c.target),
			named(t, "queue bisect", c.queue), named(t, "the request", c.request))
		if r.String() != c.want || err != nil {
			t.Errorf("%+v is %q, %v", c, r, err)
		}
	}
}

func TestTermsThatExcludeOneAnotherSayWhoAsked(t *testing.T) {
	for _, c := range []struct{ kind, queue, request, want string }{
		{"machine=b", "", "machine=a", "machine=b (kind compile) and machine=a (the request)"},
		{"machine=a,b", "machine=b,c", "machine=d,e", "machine=a,b (kind compile) and machine=d,e (the request)"},
		{"machine=a,b", "machine=b,c", "machine=c,a", "machine=a,b (kind compile), machine=b,c (queue bisect) and machine=c,a (the request)"},
		{"os=linux", "trait=nvme", "os=darwin", "os=linux (kind compile) and os=darwin (the request)"},
		{"", "pool=small", "pool=big", "pool=small (queue bisect) and pool=big (the request)"},
	} {
		_, err := match.Join(named(t, "kind compile", c.kind), named(t, "queue bisect", c.queue), named(t, "the request", c.request))
		want := strings.ReplaceAll(c.want, "c,a", "a,c") + ": they exclude one another"
		if !errors.Is(err, match.ErrExclude) || err.Error() != want {
			t.Errorf("%+v: %v", c, err)
		}
	}
	_, err := match.Parse([]string{"machine=a", "machine=b"})
	if !errors.Is(err, match.ErrExclude) || err.Error() != "machine=a and machine=b: they exclude one another" {
		t.Error(err)
	}
}

func TestRequirementsHaveBounds(t *testing.T) {
	traits := func(from, to int) string {
		var s strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&s, "trait=t%d ", i)
		}
		return s.String()
	}
	r, err := match.Join(named(t, "the request", traits(0, 12)), named(t, "kind compile", traits(4, 16)))
	if len(r.Terms()) != match.MaxTerms || err != nil {
		t.Error(r, err)
	}
	_, err = match.Join(named(t, "queue main", ""), named(t, "the request", traits(0, 12)), named(t, "kind compile", traits(4, 17)))
	if err == nil || err.Error() != "more than 16 terms are asked for together (by the request and kind compile)" {
		t.Error(err)
	}
	_, err = match.Parse(strings.Fields(traits(0, 17)))
	if err == nil || err.Error() != "more than 16 terms are asked for together" {
		t.Error(err)
	}
	_, err = match.Parse(strings.Fields("device=gpu:65536 device=gpu"))
	if err == nil || err.Error() != "more than 65536 devices gpu are asked for together" {
		t.Error(err)
	}
}

func TestSizesOfARequirement(t *testing.T) {
	r := parse(t, "memory=1536m cpus=3 exclusive")
	if r.MemoryMiB() != 1536 || r.CPUs() != 3 || !r.Exclusive() {
		t.Error(r.MemoryMiB(), r.CPUs(), r.Exclusive())
	}
	var none match.Requirement
	if none.MemoryMiB() != 0 || none.CPUs() != 0 || none.Exclusive() || none.String() != "" || len(none.Terms()) != 0 {
		t.Error(none)
	}
}

// A requirement never changes, whatever is joined with it.
func TestJoiningLeavesThePartsAlone(t *testing.T) {
	a, b := named(t, "a", "device=gpu machine=a,b trait=x"), named(t, "b", "device=gpu machine=b,c trait=a")
	for range 2 {
		r, err := match.Join(a, b)
		if r.String() != "device=gpu:2 machine=b trait=a trait=x" || err != nil {
			t.Error(r, err)
		}
	}
	if a.String() != "device=gpu machine=a,b trait=x" {
		t.Error(a)
	}
}

// Terms that repeat those of another part ask for no more devices; all others are joined as ever.
func TestDevicesThatAreRepeatedCountOnce(t *testing.T) {
	for _, c := range []struct{ base, more, want string }{
		{"", "", ""},
		{"device=gpu", "device=gpu", "device=gpu"},
		{"device=gpu", "device=gpu:3 os=linux", "device=gpu:3 os=linux"},
		{"device=gpu:3", "device=gpu", "device=gpu:3"},
		{"os=linux device=gpu", "device=fpga memory=8", "device=fpga device=gpu memory=8g os=linux"},
	} {
		base, more := parse(t, c.base), parse(t, c.more)
		all, err := match.Join(match.Named{Requirement: base}, match.Named{Requirement: more.Beyond(base)})
		if err != nil || all.String() != c.want {
			t.Errorf("%q and %q: %q, %v, want %q", c.base, c.more, all, err, c.want)
		}
	}
}
