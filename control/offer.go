package control

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// maxWords bounds the traits, and the names of devices, of a machine.
const maxWords = 32

// MachineChange changes what a machine offers. What is nil stays as it is. A new machine has no devices and no traits,
// takes all jobs, and its memory and CPUs are not known.
type MachineChange struct {
	// MemoryMiB and CPUs are what its jobs may have together. A machine whose memory is not known takes no job that
	// requires some; the same goes for CPUs.
	MemoryMiB *int64 `json:"memory_mib,omitempty"`
	CPUs      *int   `json:"cpus,omitempty"`
	// Devices counts its devices by name.
	Devices *map[string]int `json:"devices,omitempty"`
	// Traits are words that it has. Only are further ones, of which a job must require one to run here.
	Traits *[]string `json:"traits,omitempty"`
	Only   *[]string `json:"only,omitempty"`
	// Accepts are the kinds of request whose jobs may run here; an empty list means all.
	Accepts *[]events.RequestKind `json:"accepts,omitempty"`
}

// apply returns the machine after the change, or a refusal.
func (change MachineChange) apply(m events.MachineDescribed) (events.MachineDescribed, error) {
	if v := change.MemoryMiB; v != nil {
		if *v < 1 || *v > match.MaxMemoryMiB {
			return m, refuse(Invalid, "memory_mib %d: use a number from 1 to %d", *v, match.MaxMemoryMiB)
		}
		m.MemoryMiB = *v
	}
	if v := change.CPUs; v != nil {
		if *v < 1 || *v > match.MaxCount {
			return m, refuse(Invalid, "cpus %d: use a number from 1 to %d", *v, match.MaxCount)
		}
		m.CPUs = *v
	}
	if v := change.Devices; v != nil {
		if err := checkDevices(*v); err != nil {
			return m, err
		}
		m.Devices = maps.Clone(*v)
	}
	for _, set := range []struct {
		what  string
		field *[]string
		value *[]string
	}{{"traits", &m.Traits, change.Traits}, {"only", &m.Only, change.Only}} {
		if set.value == nil {
			continue
		}
		words, err := checkTraits(set.what, *set.value)
		if err != nil {
			return m, err
		}
		*set.field = words
	}
	if v := change.Accepts; v != nil {
		m.Accepts = slices.Compact(slices.Sorted(slices.Values(*v)))
		for _, kind := range m.Accepts {
			if _, err := events.ParseRequestKind(string(kind)); err != nil {
				return m, refuse(Invalid, "accepts: %s", err)
			}
		}
	}
	return m, nil
}

func checkDevices(devices map[string]int) error {
	if len(devices) > maxWords {
		return refuse(Invalid, "%d names of devices: use at most %d", len(devices), maxWords)
	}
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		if err := events.CheckToken("device", name); err != nil {
			return refuse(Invalid, "%s", err)
		}
		if n := devices[name]; n < 1 || n > match.MaxCount {
			return refuse(Invalid, "%d devices %s: use a number from 1 to %d", n, name, match.MaxCount)
		}
	}
	return nil
}

// checkTraits returns the traits sorted, each once, or a refusal.
func checkTraits(what string, given []string) ([]string, error) {
	traits := slices.Compact(slices.Sorted(slices.Values(given)))
	if len(traits) > maxWords {
		return nil, refuse(Invalid, "%s: %d traits: use at most %d", what, len(traits), maxWords)
	}
	for _, trait := range traits {
		if err := events.CheckToken("trait", trait); err != nil {
			return nil, refuse(Invalid, "%s: %s", what, err)
		}
	}
	return traits, nil
}

// sameMachine returns a refusal if a machine is registered in another way than it is asked for now.
func sameMachine(is, asked events.MachineDescribed) error {
	fixed := unlike(setting{"pool", is.Pool, asked.Pool}, setting{"os", is.OS, asked.OS}, setting{"arch", is.Arch, asked.Arch}, setting{"slots", is.Slots, asked.Slots})
	if len(fixed) > 0 {
		return refuse(Conflict, "machine %s is registered already, and what is asked for now differs: %s. Pool, OS, architecture and slots of a machine never change: "+
			"remove it with `tacho machine remove %s`, and add it under another name", is.Machine, strings.Join(fixed, "; "), is.Machine)
	}
	if found := differences(is, asked); len(found) > 0 {
		return refuse(Conflict, "machine %s is registered already, and what is asked for now differs: %s. To change it, use `tacho machine set %s`",
			is.Machine, strings.Join(found, "; "), is.Machine)
	}
	return nil
}

// setting is a setting of a machine as it is and as it is asked for.
type setting struct {
	name      string
	is, asked any
}

// differences says in words where two offers of a machine differ.
func differences(is, asked events.MachineDescribed) []string {
	return unlike(
		setting{"memory_mib", is.MemoryMiB, asked.MemoryMiB}, setting{"cpus", is.CPUs, asked.CPUs},
		setting{"devices", deviceList(is.Devices), deviceList(asked.Devices)}, setting{"traits", strings.Join(is.Traits, ","), strings.Join(asked.Traits, ",")},
		setting{"only", strings.Join(is.Only, ","), strings.Join(asked.Only, ",")},
		setting{"accepts", strings.Join(texts(is.Accepts), ","), strings.Join(texts(asked.Accepts), ",")},
	)
}

// unlike says in words which settings differ.
func unlike(settings ...setting) (out []string) {
	word := func(v any) string {
		s := fmt.Sprint(v)
		if s == "" || s == "0" {
			return "none"
		}
		return s
	}
	for _, s := range settings {
		if is, asked := word(s.is), word(s.asked); is != asked {
			out = append(out, fmt.Sprintf("%s %s instead of %s", s.name, asked, is))
		}
	}
	return out
}

// deviceList returns devices as terms write them, by name.
func deviceList(devices map[string]int) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		out = append(out, fmt.Sprintf("%s:%d", name, devices[name]))
	}
	return strings.Join(out, ",")
}
