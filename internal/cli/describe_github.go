package cli

import (
	"fmt"

	"github.com/tachobench/tacho/events"
)

// describeGitHub describes the events of deliveries and comments.
func describeGitHub(f events.Fact) string {
	// describe passes only these.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.DeliveryReceived:
		return fmt.Sprintf("%s of %d bytes, delivery %s", f.Event, f.Size, f.Delivery)
	case events.DeliveryPart:
		return fmt.Sprintf("part %d of delivery %s", f.Part, f.Delivery)
	case events.DeliveryHandled:
		s := string(f.Outcome)
		if f.Command != "" {
			s += fmt.Sprintf(" %q", f.Command)
		}
		if f.Sender != "" {
			s += " by " + f.Sender
		}
		if f.PR != 0 {
			s += fmt.Sprintf(" on PR %d", f.PR)
		}
		return join(s, f.Reason)
	case events.RequestBuildFailed:
		return join(fmt.Sprintf("request %s continues to wait", f.RequestID), f.Reason)
	case events.CommentWanted:
		return fmt.Sprintf("%s for PR %d of %s, revision %d: %s", f.Purpose, f.PR, f.Repo, f.Revision, firstLine(f.Body))
	case events.CommentAttempted:
		return fmt.Sprintf("%s, revision %d, attempt %d", f.Key, f.Revision, f.Attempt)
	case events.CommentPosted:
		s := fmt.Sprintf("%s, revision %d", f.Key, f.Revision)
		if f.Found {
			s += ", by an attempt whose answer was lost"
		}
		return join(s, f.URL)
	case events.CommentPostponed:
		return join(fmt.Sprintf("%s, revision %d, until %s", f.Key, f.Revision, f.Until), f.Reason)
	case events.CommentRefused:
		return join(fmt.Sprintf("%s, revision %d", f.Key, f.Revision), f.Reason)
	case events.LabelsSet:
		return fmt.Sprintf("%s, revision %d", f.Key, f.Revision)
	case events.CommentMinimised:
		return join(string(f.Key), f.Reason)
	}
	return ""
}
