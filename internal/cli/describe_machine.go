package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
)

// describeMachine describes the events of machines.
func describeMachine(f events.MachineFact) string {
	switch f := f.(type) {
	case events.MachineDescribed:
		words := []string{
			fmt.Sprintf("machine %s of pool %s, %s/%s", f.Machine, f.Pool, f.OS, f.Arch), phrase.Count(f.Slots, "slot"),
		}
		if f.MemoryMiB > 0 {
			words = append(words, memorySize(f.MemoryMiB))
		}
		if f.CPUs > 0 {
			words = append(words, phrase.Count(f.CPUs, "CPU"))
		}
		return strings.Join(words, ", ") + named("devices", deviceWords(f.Devices)) + named("traits", f.Traits) + named("only for", f.Only) + named("accepts", f.Accepts)
	case events.MachineRemoved:
		return join("machine "+string(f.Machine)+" for good", f.Reason)
	}
	return ""
}

// memorySize returns an amount of memory in the largest unit in which it is whole.
func memorySize(mib int64) string {
	if mib%1024 == 0 {
		return fmt.Sprintf("%d GiB", mib/1024)
	}
	return fmt.Sprintf("%d MiB", mib)
}

// deviceWords returns devices as flags write them, by name.
func deviceWords(devices map[string]int) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		if n := devices[name]; n > 1 {
			name = fmt.Sprintf("%s:%d", name, n)
		}
		out = append(out, name)
	}
	return out
}

// named mentions a list of words unless it is empty.
func named[T ~string](what string, list []T) string {
	if len(list) == 0 {
		return ""
	}
	return ", " + what + " " + spaced(list)
}

// spaced joins words with spaces.
func spaced[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = string(v)
	}
	return strings.Join(words, " ")
}
