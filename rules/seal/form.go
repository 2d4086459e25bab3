package seal

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tachobench/tacho/events"
)

// The first lines of what is signed.
const (
	definitionsPurpose = "tacho definitions 1\n"
	dispatchPurpose    = "tacho dispatch 1\n"
)

// definitionsForm returns the bytes that a seal of definitions signs. A digest has one length and no line feed, so no two pairs
// have the same form.
func definitionsForm(name events.SuiteName, digest events.Digest) []byte {
	return []byte(definitionsPurpose + string(name) + "\n" + string(digest))
}

// dispatch is what a seal of a dispatch signs: what is executed, on which lane, at which place. The digest of the definitions is in
// the job; they hold the commands and the time limits.
//
// What else a JobDispatched says is not signed. Attempt, Lost, Since, Closes and Share change nothing of what is executed.
type dispatch struct {
	Job   events.JobSpec `json:"job"`
	Lane  events.Lane    `json:"lane"`
	Place uint64         `json:"place"`
}

// dispatchForm returns the bytes that a seal of a dispatch signs: JSON with sorted keys. A field of JobSpec that is added later must
// have omitempty: then a job without it has the form that it had, and old seals stay good. A program that does not know a field that
// a job has gets another form: it refuses the job, which it would not execute as it was meant.
func dispatchForm(lane events.Lane, place uint64, job events.JobSpec) []byte {
	form, err := json.Marshal(dispatch{Job: job, Lane: lane, Place: place})
	if err == nil {
		var sorted any
		d := json.NewDecoder(bytes.NewReader(form))
		d.UseNumber()
		err = d.Decode(&sorted)
		if err == nil {
			form, err = json.Marshal(sorted)
		}
	}
	if err != nil {
		// A JobSpec has strings, numbers and switches alone.
		panic(fmt.Sprintf("seal: form of job %s: %v", job.ID, err))
	}
	return append([]byte(dispatchPurpose), form...)
}
