package request

import (
	"errors"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
)

// The order of parameters makes no difference. No parameters means the defaults, which differ from any given ones.
func TestAskingAgainWithOtherParametersIsRefused(t *testing.T) {
	for _, test := range []struct {
		name       string
		given, now events.Parameters
		says       string // empty where it is the same
	}{
		{"none and none", events.Parameters{}, events.Parameters{Profiles: []events.Profile{}}, ""},
		{
			"another order",
			events.Parameters{Profiles: []events.Profile{"opt", "debug"}, Benchmarks: []string{"a", "b"}},
			events.Parameters{Profiles: []events.Profile{"debug", "opt"}, Benchmarks: []string{"b", "a"}},
			"",
		},
		{"some instead of none", events.Parameters{}, events.Parameters{Profiles: []events.Profile{"fancy"}}, "profiles fancy instead of the default"},
		{"none instead of some", events.Parameters{Benchmarks: []string{"net*"}}, events.Parameters{}, "benchmarks all instead of net*"},
		{"more", events.Parameters{Targets: []events.Target{"a"}}, events.Parameters{Targets: []events.Target{"b", "a"}}, "targets a, b instead of a"},
		{
			"several",
			events.Parameters{Backends: []events.Backend{"x"}},
			events.Parameters{Backends: []events.Backend{"y"}, Benchmarks: []string{"b"}},
			"backends y instead of x; benchmarks b instead of all",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := created(events.StateArtifactsReady)
			f.Parameters = test.given
			facts, err := Decide(fold(f), Create{Suite: "go", Kind: events.Try, Key: "k", Tag: "b", Parent: "a", Parameters: test.now})
			var refusal *Refusal
			if len(facts) > 0 || errors.As(err, &refusal) != (test.says != "") {
				t.Fatalf("%v, %v", facts, err)
			}
			if test.says == "" {
				return
			}
			if !strings.Contains(refusal.Reason, test.says) || !strings.Contains(refusal.Reason, "--key") || !strings.Contains(refusal.Reason, "r1") {
				t.Errorf("it says %q, want %q, the request and what to do", refusal.Reason, test.says)
			}
		})
	}
}

// A try whose build named another parent than the wish is still the try that was asked for.
func TestAskingAgainAfterTheBuildIsAskingForTheSame(t *testing.T) {
	f := created(events.StateWaitingForArtifacts)
	f.Tag = ""
	r := fold(f, events.RequestArtifactsReady{RequestID: "r1", Tag: "merged", Parent: "base"})
	for _, c := range []Create{{Parent: "a"}, {Tag: "merged"}, {Tag: "merged", Parent: "base"}} {
		c.Suite, c.Kind, c.Key = "go", events.Try, "k"
		if facts, err := Decide(r, c); len(facts) > 0 || err != nil {
			t.Errorf("%+v: %v, %v", c, facts, err)
		}
	}
}

// What a queue adds to the requirements at the start is no difference to what was asked for.
func TestAskingAgainWithRequirements(t *testing.T) {
	f := created(events.StateArtifactsReady)
	f.Requires = []string{"memory=8g"}
	r := fold(f, events.RequestStarted{RequestID: "r1", Requires: []string{"memory=16g", "trait=nvme"}})
	for _, test := range []struct {
		now  []string
		says string
	}{
		{[]string{"memory=8g"}, ""}, {nil, ""}, {[]string{"memory=16g"}, "requirements memory=16g instead of memory=8g"},
	} {
		_, err := Decide(r, Create{Suite: "go", Kind: events.Try, Key: "k", Tag: "b", Parent: "a", Requires: test.now})
		var refusal *Refusal
		if errors.As(err, &refusal) != (test.says != "") || refusal != nil && !strings.Contains(refusal.Reason, test.says) {
			t.Errorf("%v: %v", test.now, err)
		}
	}
}
