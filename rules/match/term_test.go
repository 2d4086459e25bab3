package match_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tachobench/tacho/rules/match"
)

// parse returns the requirement of terms that are valid, in one line.
func parse(t testing.TB, terms string) match.Requirement {
	t.Helper()
	r, err := match.Parse(strings.Fields(terms))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTermsHaveOneCanonicalForm(t *testing.T) {
	for _, c := range []struct{ terms, want string }{
		{"", ""},
		{"memory=8", "memory=8g"},
		{"memory=8g", "memory=8g"},
		{"memory=8G", "memory=8g"},
		{"memory=8192m", "memory=8g"},
		{"memory=8192M", "memory=8g"},
		{"memory=8193m", "memory=8193m"},
		{"memory=1m", "memory=1m"},
		{"memory=65536", "memory=65536g"},
		{"memory=08g", "memory=8g"},
		{"memory=8g memory=9000m memory=2", "memory=9000m"},
		{"cpus=4 cpus=16 cpus=8", "cpus=16"},
		{"exclusive exclusive", "exclusive"},
		{"trait=ssd trait=nvme trait=ssd", "trait=nvme trait=ssd"},
		{"device=gpu", "device=gpu"},
		{"device=gpu:1", "device=gpu"},
		{"device=gpu device=nic device=gpu:2", "device=gpu:3 device=nic"},
		{"device=gpu:2 device=gpu-b", "device=gpu-b device=gpu:2"},
		{"os=linux,darwin,linux", "os=darwin,linux"},
		{"machine=a,b,c machine=d,c,b machine=b,e", "machine=b"},
		{"trait=x pool=p os=o memory=1 machine=m exclusive device=d cpus=1 arch=a", "arch=a cpus=1 device=d exclusive machine=m memory=1g os=o pool=p trait=x"},
	} {
		if got := parse(t, c.terms).String(); got != c.want {
			t.Errorf("%q is %q, want %q", c.terms, got, c.want)
		}
	}
}

func TestBadTermsAreNamed(t *testing.T) {
	const (
		memory = "write memory=8 or memory=8g for 8 GiB, memory=8192m for MiB, at most 64 TiB"
		cpus   = "write cpus=N, N from 1 to 65536"
		device = "write device=NAME or device=NAME:N"
		words  = "use arch=, cpus=, device=, exclusive, machine=, memory=, os=, pool= or trait="
		names  = "64 lower-case letters, digits"
	)
	for _, c := range []struct{ term, want string }{
		{"memory=8q", memory},
		{"memory=-1", memory},
		{"memory=+1", memory},
		{"memory=0", memory},
		{"memory=0m", memory},
		{"memory=", memory},
		{"memory", memory},
		{"memory=g", memory},
		{"memory=1.5g", memory},
		{"memory=8gb", memory},
		{"memory=8 g", memory},
		{"memory=99999999t", memory},
		{"memory=65537", memory},
		{"memory=67108865m", memory},
		{"memory=99999999999999999999g", memory},
		{"cpus=0", cpus},
		{"cpus=-4", cpus},
		{"cpus=2.5", cpus},
		{"cpus=65537", cpus},
		{"cpus", cpus},
		{"device=gpu:0", device},
		{"device=gpu:", device},
		{"device=gpu:-1", device},
		{"device=gpu:65537", device},
		{"device=:2", device},
		{"device=", device},
		{"device=gpu:1:1", device},
		{"trait=", "write trait=NAME"},
		{"trait=nvme,ssd", "write trait=NAME, once for each trait"},
		{"trait=NVMe", names},
		{"os=", "write os=NAME, or os=NAME,NAME for any of them"},
		{"os", "write os=NAME"},
		{"machine=a,,b", "write machine=NAME"},
		{"machine=a, b", "write machine=NAME"},
		{"pool=a.b", names},
		{"arch=x86_64*", names},
		{"exclusive=1", "write exclusive alone"},
		{"exclusive=", "write exclusive alone"},
		{"Exclusive", words},
		{"nvme", words},
		{"tag=nvme", words},
		{"", words},
		{"=", words},
		{"os=linux arch=x86_64", names},
		{"trait=" + strings.Repeat("a", 65), names},
	} {
		_, err := match.Parse([]string{"cpus=1", c.term})
		if err == nil {
			t.Errorf("%q is no error", c.term)
			continue
		}
		for _, want := range []string{"term ", c.term, c.want} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error of %q does not say %q: %v", c.term, want, err)
			}
		}
	}
}

func TestLongTermsAreRefused(t *testing.T) {
	names := make([]string, match.MaxNames+1)
	for i := range names {
		names[i] = "m" + strings.Repeat("x", i)
	}
	for _, term := range []string{"machine=" + strings.Join(names, ","), "machine=" + strings.Repeat("a,", 1<<20)} {
		_, err := match.Parse([]string{term})
		if err == nil || len(err.Error()) > 5000 {
			t.Errorf("%.20q… is %.200v", term, err)
		}
	}
	_, err := match.Parse([]string{"machine=" + strings.Join(names[1:], ",")})
	if err != nil {
		t.Error(err)
	}
}

// The settings of a machine are written as the terms are.
func TestSizesOfMachinesAreReadAlike(t *testing.T) {
	for s, want := range map[string]int64{"64": 64 << 10, "64g": 64 << 10, "512M": 512, "65536g": match.MaxMemoryMiB} {
		mib, err := match.ParseMemory(s)
		if mib != want || err != nil {
			t.Errorf("%q is %d MiB, %v", s, mib, err)
		}
	}
	name, count, err := match.ParseDevice("gpu:2")
	if name != "gpu" || count != 2 || err != nil {
		t.Error(name, count, err)
	}
}

// FuzzParse holds that no text panics, and that the canonical form is a fixed point.
func FuzzParse(f *testing.F) {
	f.Add("trait=nvme\nmemory=8192m\nexclusive\ndevice=gpu:2\ndevice=gpu")
	f.Add("machine=a,b\nmachine=b,c\nos=linux\narch=x86_64\npool=p\ncpus=016")
	f.Add("memory=\ncpus=-1\n=\ndevice=:\nos=,")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := match.Parse(strings.Split(text, "\n"))
		if err != nil {
			if !reflect.ValueOf(r).IsZero() {
				t.Errorf("an error comes with %v", r)
			}
			return
		}
		terms := r.Terms()
		if len(terms) > match.MaxTerms || !slices.IsSorted(terms) {
			t.Errorf("canonical form %q", terms)
		}
		again, err := match.Parse(terms)
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("%q is read as %q, %v", r, again, err)
		}
	})
}
