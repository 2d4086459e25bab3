package match

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tachobench/tacho/events"
)

// Bounds of what can be asked for.
const (
	// MaxTerms is how many terms a requirement has at most, in canonical form.
	MaxTerms = 16
	// MaxNames is how many names a term like machine= lists at most.
	MaxNames = 32
	// MaxMemoryMiB is the most memory that a job can ask for: 64 TiB.
	MaxMemoryMiB = 64 << 20
	// MaxCount is the most CPUs, and the most devices of one name, that a job can ask for.
	MaxCount = 1 << 16

	maxTermBytes = 4096
)

// choice is a word whose term lists names of which the machine has one.
type choice int

const (
	arch choice = iota
	machine
	system
	pool
	choices
)

func (c choice) String() string { return [choices]string{"arch", "machine", "os", "pool"}[c] }

// device is a number of devices with a name.
type device struct {
	name  string
	count int
}

func (d device) String() string {
	if d.count == 1 {
		return "device=" + d.name
	}
	return fmt.Sprintf("device=%s:%d", d.name, d.count)
}

// parseTerm reads one term.
func parseTerm(s string) (r Requirement, err error) {
	if len(s) > maxTermBytes {
		return r, fmt.Errorf("term %q…: use at most %d bytes", s[:40], maxTermBytes)
	}
	word, value, valued := strings.Cut(s, "=")
	switch word {
	case arch.String():
		r.oneOf[arch], err = parseNames(word, value)
	case machine.String():
		r.oneOf[machine], err = parseNames(word, value)
	case system.String():
		r.oneOf[system], err = parseNames(word, value)
	case pool.String():
		r.oneOf[pool], err = parseNames(word, value)
	case "trait":
		r.traits, err = parseTrait(value)
	case "device":
		var d device
		d.name, d.count, err = ParseDevice(value)
		r.devices = []device{d}
	case "memory":
		r.memory, err = ParseMemory(value)
	case "cpus":
		r.cpus, err = parseCPUs(value)
	case "exclusive":
		r.exclusive = true
		if valued {
			err = errors.New("write exclusive alone")
		}
	default:
		err = fmt.Errorf("unknown word %q: use arch=, cpus=, device=, exclusive, machine=, memory=, os=, pool= or trait=", word)
	}
	if err != nil {
		return Requirement{}, fmt.Errorf("term %q: %w", s, err)
	}
	return r, nil
}

func parseNames(word, s string) ([]string, error) {
	names := strings.Split(s, ",")
	if len(names) > MaxNames {
		return nil, fmt.Errorf("%d names: list at most %d, or use a pool or a trait", len(names), MaxNames)
	}
	for _, name := range names {
		if err := events.CheckToken(word, name); err != nil {
			return nil, fmt.Errorf("write %s=NAME, or %[1]s=NAME,NAME for any of them: %w", word, err)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func parseTrait(s string) ([]string, error) {
	if err := events.CheckToken("trait", s); err != nil {
		return nil, fmt.Errorf("write trait=NAME, once for each trait: %w", err)
	}
	return []string{s}, nil
}

// ParseDevice reads a number of devices as terms and settings of machines write them: gpu or gpu:2. The error lists
// these forms; the caller names the value.
func ParseDevice(s string) (name string, count int, err error) {
	name, number, counted := strings.Cut(s, ":")
	n := int64(1)
	if counted {
		n = parseNumber(number, MaxCount)
	}
	if n == 0 {
		return "", 0, fmt.Errorf("write device=NAME or device=NAME:N, N from 1 to %d", MaxCount)
	}
	if err := events.CheckToken("device", name); err != nil {
		return "", 0, fmt.Errorf("write device=NAME or device=NAME:N: %w", err)
	}
	return name, int(n), nil
}

// ParseMemory reads an amount of memory as terms and settings of machines write it, and returns it in MiB: 8, 8g, 8G and
// 8192m are all 8192. The error lists these forms; the caller names the value.
func ParseMemory(s string) (mib int64, err error) {
	digits, unit := s, int64(1024)
	if d, ok := strings.CutSuffix(strings.ToLower(s), "m"); ok {
		digits, unit = d, 1
	} else if d, ok := strings.CutSuffix(strings.ToLower(s), "g"); ok {
		digits = d
	}
	n := parseNumber(digits, MaxMemoryMiB/unit)
	if n == 0 {
		return 0, errors.New("write memory=8 or memory=8g for 8 GiB, memory=8192m for MiB, at most 64 TiB")
	}
	return n * unit, nil
}

func parseCPUs(s string) (int, error) {
	n := parseNumber(s, MaxCount)
	if n == 0 {
		return 0, fmt.Errorf("write cpus=N, N from 1 to %d", MaxCount)
	}
	return int(n), nil
}

// parseNumber returns the number from 1 to most that the digits say; 0 if they do not.
func parseNumber(digits string, most int64) int64 {
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || int64(n) > most {
		return 0
	}
	return int64(n)
}

// FormatMemory returns the canonical form of an amount of memory in MiB: 8g, 1536m.
func FormatMemory(mib int64) string {
	if mib%1024 == 0 {
		return strconv.FormatInt(mib/1024, 10) + "g"
	}
	return strconv.FormatInt(mib, 10) + "m"
}
