package match_test

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// park is a farm of servers of two types and of small hosts.
func park() []match.Offer {
	server := func(pool, name string, cpus int, devices map[string]int, traits ...string) match.Offer {
		return match.Offer{Machine: pool + "--" + name, Pool: pool, OS: "linux", Arch: "aarch64", MemoryMiB: 256 << 10, CPUs: cpus, Devices: devices, Traits: traits, Slots: 16}
	}
	return []match.Offer{
		server("taishan200-2280-2s48p-256g", "a61", 96, map[string]int{"hi1822": 1}, "vm", "dc"),
		server("taishan200-2280-2s48p-256g", "a66", 96, map[string]int{"hi1822": 1, "es3000": 2}, "vm", "dc"),
		server("taishan200-2280-2s48p-256g", "a88", 96, nil, "vm", "dc"),
		server("taishan200-2280-2s64p-256g", "a61", 128, map[string]int{"es3000": 1}, "vm"),
		{Machine: "x1", Pool: "small", OS: "linux", Arch: "x86_64", MemoryMiB: 20 << 10, CPUs: 8, Traits: []string{"dc"}, Slots: 4},
		{Machine: "x2", Pool: "small", OS: "linux", Arch: "x86_64", MemoryMiB: 8<<10 - 1, CPUs: 8, Traits: []string{"vm", "dc"}, Slots: 4},
	}
}

// Each row is a way to ask for a machine that other farms have, and the terms that say it here.
func TestWaysToAskForAMachine(t *testing.T) {
	const s48, s64 = "taishan200-2280-2s48p-256g", "taishan200-2280-2s64p-256g"
	for _, c := range []struct{ asked, terms, want string }{
		{"arch = aarch64", "arch=aarch64", s48 + "--a61 " + s48 + "--a66 " + s48 + "--a88 " + s64 + "--a61"},
		{"arch = x86_64", "arch=x86_64", "x1 x2"},
		{"testbox = hw", "exclusive", s48 + "--a61 " + s48 + "--a66 " + s48 + "--a88 " + s64 + "--a61 x1 x2"},
		{"tbox_type_arch = hw-x86_64", "exclusive arch=x86_64", "x1 x2"},
		{"tbox_type_arch = vm-aarch64", "trait=vm arch=aarch64", s48 + "--a61 " + s48 + "--a66 " + s48 + "--a88 " + s64 + "--a61"},
		{"tbox_type_arch = dc-aarch64", "trait=dc arch=aarch64", s48 + "--a61 " + s48 + "--a66 " + s48 + "--a88"},
		{"testbox = dc-8g", "trait=dc memory=8g arch=x86_64", "x1"},
		{"testbox = vm-8g: 8 GB are never 8 MB", "trait=vm memory=8g arch=x86_64", ""},
		{"testbox = vm-2p8g", "trait=vm cpus=2 memory=8g", s48 + "--a61 " + s48 + "--a66 " + s48 + "--a88 " + s64 + "--a61"},
		{"need_memory = 8191m, to the MiB", "memory=8191m arch=x86_64", "x1 x2"},
		{"need_memory = 8192m, to the MiB", "memory=8192m arch=x86_64", "x1"},
		{"testbox = one machine", "machine=" + s64 + "--a61", s64 + "--a61"},
		{"testbox = a group that is alike", "pool=" + s48, s48 + "--a61 " + s48 + "--a66 " + s48 + "--a88"},
		{"target_machines = [a66, a88]", "machine=" + s48 + "--a66," + s48 + "--a88", s48 + "--a66 " + s48 + "--a88"},
		{"target_machines & testbox: never their union", "machine=" + s48 + "--a66," + s64 + "--a61 pool=" + s48, s48 + "--a66"},
		{"sched.devices = [hi1822]", "device=hi1822", s48 + "--a61 " + s48 + "--a66"},
		{"sched.devices = [hi1822, es3000]: all of them", "device=hi1822 device=es3000", s48 + "--a66"},
		{"sched.devices & target_machines", "device=es3000 machine=" + s48 + "--a61," + s64 + "--a61", s64 + "--a61"},
		{"sched.devices that no machine has", "device=gpu", ""},
	} {
		var fit []string
		for _, o := range park() {
			if len(match.Lacks(parse(t, c.terms), events.Master, o)) == 0 {
				fit = append(fit, o.Machine)
			}
		}
		if got := strings.Join(fit, " "); got != c.want {
			t.Errorf("%s: fits %q, want %q", c.asked, got, c.want)
		}
	}
}

// Devices that no machine has together fail the submit, and the machine that comes nearest says why.
func TestDevicesThatNoMachineHasAreRefused(t *testing.T) {
	err := match.Check("net/aarch64/0", parse(t, "device=hi1822:2 arch=aarch64"), events.Master, park())
	want := "no machine can run net/aarch64/0: taishan200-2280-2s48p-256g--a61 comes nearest, it lacks 1 hi1822 device"
	if err == nil || err.Error() != want {
		t.Error(err)
	}
}
