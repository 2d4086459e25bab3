package measure

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironment(t *testing.T) {
	e := Environment(t.Context())
	if e.Host == "" || e.OS == "" || e.Kernel == "" || e.CPU == "" || e.CPUs < 1 || e.MemoryBytes < 1<<20 || len(e.Fingerprint) != 64 {
		t.Errorf("something is missing in %+v", e)
	}
	if e.Settings["aslr"] == "" {
		t.Errorf("no word about address space layout in %v", e.Settings)
	}
	if diff := cmp.Diff(e, Environment(t.Context())); diff != "" {
		t.Errorf("not stable:\n%s", diff)
	}
}

func TestFingerprintTellsMachinesApart(t *testing.T) {
	same := machine{identity: "a", kernel: "6.1", cpu: "x", cpus: 2, memory: 8 << 30, settings: map[string]string{"aslr": "2", "smt": "0"}}
	want := same.fingerprint()
	reboot := same
	reboot.memory -= 8 << 20
	reboot.settings = maps.Clone(same.settings)
	if reboot.fingerprint() != want {
		t.Error("some kilobytes of memory make it another machine")
	}
	for name, change := range map[string]func(*machine){
		"identity": func(m *machine) { m.identity = "b" },
		"kernel":   func(m *machine) { m.kernel = "6.2" },
		"cpu":      func(m *machine) { m.cpu = "y" },
		"cpus":     func(m *machine) { m.cpus = 3 },
		"memory":   func(m *machine) { m.memory *= 2 },
		"setting":  func(m *machine) { m.settings["aslr"] = "0" },
		"knob":     func(m *machine) { m.settings["governor"] = "performance" },
	} {
		other := same
		other.settings = maps.Clone(same.settings)
		change(&other)
		if other.fingerprint() == want {
			t.Errorf("another %s, the same fingerprint", name)
		}
	}
}

func TestParseCPUModel(t *testing.T) {
	for text, want := range map[string]string{
		"processor\t: 0\nmodel name\t: Intel(R) Xeon(R)\n\nprocessor\t: 1\nmodel name\t: other\n":              "Intel(R) Xeon(R)",
		"processor : 0\nCPU implementer : 0x41\nCPU architecture: 8\nCPU variant : 0x3\nCPU part : 0xd0c\n":    "implementer 0x41 part 0xd0c variant 0x3",
		"processor : 0\nhart : 1\nuarch : sifive,u74-mc\n":                                                     "sifive,u74-mc",
		"processor       : 0\ncpu             : POWER9, altivec supported\nclock           : 2300.000000MHz\n": "POWER9, altivec supported",
		"": "",
	} {
		if got := parseCPUModel([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestReadKnob(t *testing.T) {
	dir := t.TempDir()
	for name, value := range map[string]string{"cpu0": "powersave\n", "cpu1": "performance\n", "cpu2": "powersave\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := readKnob(filepath.Join(dir, "cpu*")), "performance,powersave"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := readKnob(filepath.Join(dir, "none")); got != "" {
		t.Errorf("%q of a knob that is not there", got)
	}
}
