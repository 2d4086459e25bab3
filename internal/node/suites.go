package node

import (
	"path/filepath"
	"runtime"

	"github.com/tachobench/tacho/collector/definitions"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/rules/suite"
)

func namesOf(suites []suite.Definitions) []events.SuiteName {
	names := make([]events.SuiteName, 0, len(suites))
	for _, d := range suites {
		names = append(names, d.Name)
	}
	return names
}

// HostLanes returns the lanes of the targets that this machine fits, at most n of them; all of them if n is negative.
func HostLanes(suites []suite.Definitions, n int) []events.Lane {
	var lanes []events.Lane
	seen := map[events.Lane]bool{}
	for _, d := range suites {
		for _, t := range d.Targets {
			if t.OS != runtime.GOOS || t.Arch != runtime.GOARCH {
				continue
			}
			for set := range t.Sets {
				if l := (events.Lane{Target: t.Name, Set: events.Set(set)}); !seen[l] && (n < 0 || len(lanes) < n) {
					seen[l] = true
					lanes = append(lanes, l)
				}
			}
		}
	}
	return lanes
}

// LoadSuites loads shipped suites by name and others by file.
func LoadSuites(namesOrFiles []string) ([]suite.Definitions, error) {
	var out []suite.Definitions
	for _, name := range namesOrFiles {
		d, err := definitions.Load(name)
		if err != nil {
			return nil, usage.Error{Err: err}
		}
		out = append(out, d)
	}
	return out, nil
}

// suiteSources returns the directories of the programs of suites: the one of the suite's file, or the configured one.
func suiteSources(namesOrFiles []string, configured map[string]string) (map[string]string, error) {
	sources := map[string]string{}
	for _, name := range namesOrFiles {
		if filepath.Ext(name) != ".toml" {
			continue
		}
		d, err := definitions.Load(name)
		if err != nil {
			return nil, usage.Error{Err: err}
		}
		sources[string(d.Name)] = filepath.Dir(name)
	}
	for name, dir := range configured {
		sources[name] = dir
	}
	return sources, nil
}
