package readmodel

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/tachobench/tacho/events"
)

// told are the headers that other columns of an event tell. The column headers leaves them out
// where they are the same: they would take a fifth of the archive.
var told = [...]string{
	events.HeaderActor, events.HeaderCause, events.HeaderID, events.HeaderSource, events.HeaderSpecVersion, events.HeaderSubject,
	events.HeaderTime, events.HeaderType, events.HeaderRoot,
}

// Told returns the names of the headers that the other columns of the row tell.
func (r *EventRow) Told() []string { return told[:] }

// Tells returns a header as the other columns of the row tell it; false if they do not.
func (r *EventRow) Tells(name string) (string, bool) {
	switch name {
	case events.HeaderActor:
		return string(r.Actor), r.Actor != ""
	case events.HeaderCause:
		return strconv.FormatUint(uint64(r.Cause), 10), true
	case events.HeaderID:
		return r.ID, r.ID != ""
	case events.HeaderSource:
		return r.Source, r.Source != ""
	case events.HeaderSpecVersion:
		return "1.0", true
	case events.HeaderSubject:
		return strings.TrimPrefix(string(r.Subject), events.SubjectPrefix), true
	case events.HeaderTime:
		if r.Time == nil {
			return "", false
		}
		return events.TimeText(*r.Time), true
	case events.HeaderType:
		return events.TypePrefix + r.Type, r.Type != ""
	case events.HeaderRoot:
		return r.Root, r.Root != ""
	}
	return "", false
}

// Header returns the headers of the event as they came. The column headers has those that the other columns do not tell,
// or tell otherwise, and null for one that they tell and the event does not have.
func (r *EventRow) Header() (map[string]string, error) {
	var own map[string]*string
	err := json.Unmarshal([]byte(r.Headers), &own)
	if err != nil {
		return nil, fmt.Errorf("headers of event %d: %w", r.Seq, err)
	}
	all := make(map[string]string, len(told)+len(own))
	for _, name := range told {
		if value, tells := r.Tells(name); tells {
			all[name] = value
		}
	}
	for name, value := range own {
		if value == nil {
			delete(all, name)
		} else {
			all[name] = *value
		}
	}
	return all, nil
}
