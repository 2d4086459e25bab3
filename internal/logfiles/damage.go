package logfiles

import (
	"fmt"
	"strings"

	"github.com/tachobench/tacho/events"
)

// Damage is a place of the log at which events are missing or cannot be read.
type Damage struct {
	// First and Last are the events that the place costs; Last is 0 if they go on to the unknown end of the log.
	First events.Seq `json:"first"`
	Last  events.Seq `json:"last,omitempty"`
	// Subject is that of the first event, if it is known.
	Subject events.Subject `json:"subject,omitempty"`
	// File and Offset are where it is; File is empty on a cluster.
	File   string `json:"file,omitempty"`
	Offset int64  `json:"offset,omitempty"`
	What   string `json:"what"`
}

// Error implements error.
func (d Damage) Error() string {
	var b strings.Builder
	switch d.Last {
	case d.First:
		fmt.Fprintf(&b, "event %d", d.First)
	case 0:
		fmt.Fprintf(&b, "event %d and all after it", d.First)
	default:
		fmt.Fprintf(&b, "events %d to %d", d.First, d.Last)
	}
	if d.Subject != "" {
		fmt.Fprintf(&b, " (%s)", strings.TrimPrefix(string(d.Subject), events.SubjectPrefix))
	}
	fmt.Fprintf(&b, ": %s", d.What)
	if d.File != "" {
		fmt.Fprintf(&b, " (%s, byte %d)", d.File, d.Offset)
	}
	return b.String()
}

// Found is what a store holds.
type Found struct {
	// Identity is empty if there is no log.
	Identity string
	// Last is the last event that can be read; At and ID are the place that was asked for and the id of the event there.
	Last events.Seq
	At   events.Seq
	ID   string
	// Damage is what is wrong, in the order of the log. Torn is what is behind the last event: a record that was not written
	// to its end when the machine stopped. It was not acknowledged, unless more of the log was seen before.
	Damage []Damage
	Torn   *Damage
	// Files is how many files were read, Read how many bytes of them; Whole says that no byte was left out.
	Files int
	Read  int64
	Whole bool
}
