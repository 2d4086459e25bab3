package eventlogtest

import (
	"fmt"
	"strings"

	"github.com/tachobench/tacho/events"
)

// Earlier returns an event about the standing of a collector in the form that versions without a registry stored:
// on the collector's own subject, under the first name of its type.
func Earlier(e events.Event) (events.Stored, error) {
	s, err := events.Encode(e)
	if err != nil {
		return s, err
	}
	name, moved := strings.CutSuffix(events.TypeOf(e.Fact), ".v2")
	if s.Subject.Family() != "registry" || !moved {
		return s, fmt.Errorf("%s was never said on the subject of a collector", events.TypeOf(e.Fact))
	}
	s.Subject = events.CollectorSubject(events.CollectorName(s.Subject.Last()))
	s.Header[events.HeaderType] = events.TypePrefix + name + ".v1"
	return s, nil
}
