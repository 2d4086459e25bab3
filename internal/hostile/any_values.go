package hostile

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

var (
	numbers = []int{-1, 0, 0, 1, 1, 1, 2, 2, 3, 4, 1 << 40, math.MaxInt64, math.MinInt64}
	times   = []string{"2026-11-22T12:01:00Z", "2026-11-22T11:00:00Z", "", "never", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z"}
	// moments are how far the clock of a writer is off.
	moments = []time.Duration{0, 0, 0, time.Second, -time.Hour, 30 * time.Second, 300 * 24 * time.Hour}
	digest  = definitions().Digest()
)

func seconds(n events.Seq) time.Duration { return time.Duration(n) * time.Second }

// definitions are those of the suite of a log.
func definitions() suite.Definitions {
	return suite.Definitions{
		Version: suite.FormVersion, Name: "s", PrimaryTarget: "here", Sources: suite.Sources{Root: "file"}, Targets: []suite.Target{{Name: "here", Sets: 2}},
		Kinds:    []suite.Kind{{Name: "compile", PerSet: true, PerBackend: true, PerProfile: true, Backfill: true}},
		Backends: []suite.Backend{{Name: "any"}}, Profiles: []suite.Profile{{Name: "p0"}},
	}
}

// object returns an object with the fields that some forms have.
func (l *Log) object(key string, forms []any) map[string]any {
	fields := map[string][]any{}
	for _, form := range forms {
		if form, is := form.(map[string]any); is {
			for name, value := range form {
				fields[name] = append(fields[name], value)
			}
		}
	}
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if few := len(fields[name]) < len(forms); few && l.r.IntN(3) == 0 || l.r.IntN(20) == 0 {
			continue
		}
		out[name] = l.value(key, name, fields[name])
	}
	return out
}

// value returns a value of a field of an object that is under a key itself.
func (l *Log) value(under, key string, forms []any) any {
	switch form := forms[l.r.IntN(len(forms))].(type) {
	case map[string]any:
		if key == "content" && under == "" {
			return definitions()
		}
		if isSpec(form) && (l.Hashed || l.r.IntN(8) > 0) {
			return l.spec()
		}
		return l.object(key, forms)
	case []any:
		if len(form) == 0 {
			return form
		}
		list := []any{}
		for range l.r.IntN(4) {
			list = append(list, l.value(under, key, form))
		}
		return list
	case string:
		return l.text(under, key, form)
	case float64:
		if form != math.Trunc(form) || l.r.IntN(3) == 0 {
			return form
		}
		if l.r.IntN(8) > 0 {
			return l.r.IntN(4)
		}
		return numbers[l.r.IntN(len(numbers))]
	case bool:
		return l.r.IntN(2) == 0
	}
	return nil
}

// text returns a text for a field. was is the one of a golden file.
func (l *Log) text(under, key, was string) string {
	about := l.name[:max(strings.IndexByte(l.name, '.'), 0)]
	switch key {
	case "request_id", "requests":
		return l.one("r1", "r2", "r3")
	case "job_id", "id", "jobs", "select":
		return string(l.spec().ID)
	case "from", "by":
		return l.one(string(l.spec().ID), "c1", "r1")
	case "collector", "serving":
		return l.one("c1", "c2")
	case "name":
		if about == "output" || under == "inputs" || under == "output" {
			return l.one("out", "log")
		}
		return l.one("c1", "c2", "c3")
	case "output", "outputs":
		return l.one("out", "log", "")
	case "target":
		return l.one("here", "here", "pool_p")
	case "instance":
		return l.one("i1", "i2")
	case "suite":
		return l.one("s", "s", "s", "z")
	case "tag", "parent":
		return l.one("t1", "t2", "t3", "")
	case "state":
		return l.one(string(events.StateArtifactsReady), string(events.StateArtifactsReady), string(events.StateWaitingForArtifacts), string(events.StateInProgress), "odd")
	case "outcome":
		return l.one("success", "success", "failure", "cancelled", "expired", "", "odd")
	case "fault":
		return l.one("", string(events.ErrorOutput), string(events.ErrorExhausted), string(events.ErrorInternal), string(events.ErrorTransient), string(events.ErrorSeal), "odd")
	case "priority", "to":
		return l.one("vip", "high", "normal", "low", "idle", "", "odd")
	case "tier":
		return l.one("vip", "default", "idle", "odd")
	case "account", "members":
		return l.one("", "a", "b")
	case "queue":
		return l.one("", "main", "q", "a")
	case "digest", "definitions":
		return l.one(string(digest), string(digest), "d1", was)
	case "machine", "pool":
		return l.one("m1", "m2", "p")
	case "requires":
		return l.one("exclusive", "memory=8g", "trait=nvme", "cpus=2", "odd=odd=", "")
	case "key":
		if about == "comment" || about == "labels" {
			return l.one("report-r1", "report-r2", "answer-1")
		}
		return l.one("k1", "k2", "")
	case "since", "until", "deadline", "ended_before", "key_since", "registered_at":
		if was != "ended" {
			return l.one(times...)
		}
	case "kind":
		return l.kind(under, about, was)
	}
	return l.one(was, was, was, "", "odd")
}

// kind returns the kind of what stands under a key.
func (l *Log) kind(under, about, was string) string {
	switch {
	case under == "artifact" || under == "against" || about == "request":
		return l.one("master", "master", "try", "release", "odd")
	case under == "" && about == "graph":
		return l.one("initial", "backfill", "rerun", "repair", "retrigger", "noise", "force", "added", "external", "odd")
	case under != "":
		return l.one("compile", "build")
	}
	return was
}
