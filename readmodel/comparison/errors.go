package comparison

import (
	"context"
	"fmt"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/compare"
)

// Error says why there is nothing to compare, in words for the person who asked.
type Error struct {
	// Wrong is set if the question itself is wrong, and not what the tables hold.
	Wrong bool
	// Message says what is wrong, Next what to do about it.
	Message, Next string
}

func (e *Error) Error() string { return e.Message + ": " + e.Next }

func refuse(next, format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...), Next: next}
}

// Unmeasured returns the error for a tag without results in any of the suites. The error says what became of the
// request for it; without a request, which tags have results.
func (t Tables) Unmeasured(ctx context.Context, suites []events.SuiteName, tag events.Tag) error {
	for _, name := range suites {
		found, err := t.Reader.Requests(ctx, readmodel.RequestFilter{Suite: name, Tag: tag, Limit: 1})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			continue
		}
		asked, err := t.Reader.Request(ctx, found[0].ID)
		if err != nil {
			return err
		}
		r := compare.Report{B: string(tag)}
		t.addRequest(&r, asked)
		why := r.Words().Overall
		if r.Failure != "" {
			why += " (" + r.Failure + ")"
		}
		state := strings.ReplaceAll(string(asked.State), "_", " ")
		return refuse(fmt.Sprintf("its request is %s, see `tacho request show %s`", state, tag), "%s has no results in suite %s: %s", tag, name, why)
	}
	var known []string
	for _, name := range suites {
		tags, err := t.Reader.Measured(ctx, name, 10)
		if err != nil {
			return err
		}
		for _, tag := range tags {
			known = append(known, string(tag))
		}
	}
	in, of := "", ""
	if len(suites) == 1 {
		in, of = " in suite "+string(suites[0]), " --suite "+string(suites[0])
	}
	next := "ask for it with `tacho request master " + string(tag) + of + "`"
	if len(known) > 0 {
		next = "tags with results are " + strings.Join(known, ", ")
	}
	return refuse(next, "%s has no results%s", tag, in)
}
