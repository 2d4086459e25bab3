package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// floor is the height of a package: it imports only from floors below.
type floor int

const (
	words floor = iota
	sense
	ports
	parts
	program
	// beside is the place of internal packages; see CheckFloors.
	beside
)

func (f floor) String() string {
	return [...]string{"words (0)", "sense (1)", "ports (2)", "parts (3)", "program (4)", "beside"}[f]
}

// house names the floor of every package. A directory below one of these belongs to the same room, unless it has an
// entry itself. With a star, each directory below is a room of its own.
var house = map[string]floor{
	"events": words, "internal/phrase": words,

	"rules/*": sense, "webhook/command": sense,

	"eventlog": ports, "eventlog/*": ports, "blob": ports, "blob/*": ports, "readmodel": ports, "readmodel/comparison": ports, "control": ports, "config": ports,
	"shell": ports, "artifact": ports, "internal/githubapi": ports, "website/client": ports,
	"collector/definitions": ports, "collector/measure": ports, "collector/runner": ports, "internal/datadir": ports,

	"webhook": parts, "poller": parts, "scheduler": parts, "collector": parts, "collector/supervisor": parts, "projector": parts,
	"reporter": parts, "website": parts, "watchdog": parts, "hook": parts,

	"cmd/tacho": program, "internal/cli": program, "internal/node": program, "internal/ab": program,

	"internal": beside, "docker": beside,
}

// neighbours are the allowed imports inside a floor. Words and parts have none.
var neighbours = map[string][]string{
	// The ledger folds what the other packages say about single requests, jobs and suites.
	"rules/request": {"rules/graph"},
	"rules/ledger":  {"rules/graph", "rules/job", "rules/match", "rules/queue", "rules/request", "rules/share", "rules/suite"},
	// Definitions say what machines must have, and which jobs need which.
	"rules/suite": {"rules/graph", "rules/match"},
	// People select jobs in comments.
	"webhook/command": {"rules/graph"},

	"eventlog/jetstream":    {"eventlog"},
	"eventlog/memory":       {"eventlog"},
	"eventlog/eventlogtest": {"eventlog"},
	"eventlog/door":         {"blob", "eventlog", "eventlog/jetstream"},
	"blob/jetstream":        {"blob", "eventlog", "eventlog/jetstream"},
	"eventlog/presence":     {"eventlog"},
	"shell":                 {"eventlog"},
	"control":               {"eventlog"},
	"collector/runner":      {"artifact", "collector/measure"},
	"readmodel/comparison":  {"readmodel"},
	// The API answers with the rows and the wishes themselves.
	"website/client": {"readmodel/comparison", "control", "eventlog", "readmodel"},
	// What is in use is refused as everything else is.
	"internal/datadir": {"control"},

	"cmd/tacho":    {"internal/cli"},
	"internal/cli": {"internal/ab", "internal/node"},
}

// known are the packages that internal ones may import: the words that they need, and the log.
var known = []string{"events", "internal/phrase", "rules/suite", "eventlog", "eventlog/jetstream", "eventlog/memory", "eventlog/door"}

// stages are internal packages that put whole parts together. They may import anything. Only tests may import them.
var stages = []string{"internal/farm", "internal/attack"}

// place returns the entry of the house that a package belongs to.
func place(packagePath string) (room string, f floor, ok bool) {
	for room = packagePath; room != ""; {
		if f, ok = house[room]; ok {
			return room, f, true
		}
		i := strings.LastIndexByte(room, '/')
		if i < 0 {
			break
		}
		if f, ok = house[room[:i]+"/*"]; ok {
			return room, f, true
		}
		room = room[:i]
	}
	return "", 0, false
}

// CheckFloors reports packages without a floor, and imports that go sideways or up.
func CheckFloors(packages []*Package) (problems []Problem) {
	for _, p := range packages {
		if _, _, ok := place(p.Path); !ok {
			problems = append(problems, Problem{p.Path, "has no floor: put it where it belongs in the table of floors"})
			continue
		}
		for _, i := range p.Imports {
			if why := refuse(p.Path, i); why != "" {
				problems = append(problems, Problem{p.Path, why})
			}
		}
		if p.TestsOnly() {
			continue
		}
		for _, i := range p.TestImports {
			if why := refuseInTest(p.Path, i); why != "" {
				problems = append(problems, Problem{p.Path, why + ", even in a test"})
			}
		}
	}
	return problems
}

// refuse returns why a package may not import another one; empty if it may.
func refuse(from string, i Import) string {
	room, f, _ := place(from)
	target, to, ok := place(i.Path)
	switch {
	case !i.Ours || room == target && f != beside || !ok || slices.Contains(stages, from):
		return ""
	case slices.Contains(stages, i.Path):
		return "imports " + i.Path + ", which is for tests"
	case to == beside && f >= ports:
		return ""
	case f == beside && slices.Contains(known, target):
		return ""
	case f != beside && to < f:
		return ""
	case slices.Contains(neighbours[room], target):
		return ""
	}
	return fmt.Sprintf("is on the floor %v and may not import %s, which is on %v", f, i.Path, to)
}

// refuseInTest is refuse for tests. Tests may also import the neighbours on their floor, and packages made for tests.
// Parts never import one another: test what two of them do together from the program or from a package of tests.
func refuseInTest(from string, i Import) string {
	_, f, _ := place(from)
	_, to, _ := place(i.Path)
	switch {
	case f == to && f != parts, f == sense && to == beside, slices.Contains(stages, i.Path):
		return ""
	case f == beside && to <= ports:
		return ""
	}
	return refuse(from, i)
}
