package events

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The facts about GitHub: what it delivered, what came of it, and what Tacho writes there.

// ---- delivery.<hook>.<id> ----

// DeliveryReceived: GitHub delivered a message, signed with the hook's secret. The webhook records it before it parses
// it.
type DeliveryReceived struct {
	Hook     HookID     `json:"hook"`
	Delivery DeliveryID `json:"delivery"`
	// Event is GitHub's name of what happened, such as "issue_comment".
	Event string `json:"event"`
	// Size and Digest are those of the body as it came.
	Size   int    `json:"size"`
	Digest Digest `json:"digest"`
	// Parts counts the DeliveryParts that hold a larger body; they follow in the same batch.
	Parts int `json:"parts,omitempty"`
	// Payload is the body if it is JSON, byte for byte as it came; Raw is the body if it is not. Both are empty when
	// the body does not fit into an event.
	Raw     []byte  `json:"raw,omitempty"`
	Payload RawJSON `json:"payload,omitempty"`
}

// encode keeps the payload byte for byte. That is also much cheaper than marshalling it again. The payload must be
// valid JSON.
func (f DeliveryReceived) encode() ([]byte, error) {
	payload := f.Payload
	f.Payload = nil
	data, err := json.Marshal(f)
	if err != nil || len(payload) == 0 {
		return data, err
	}
	data = append(data[:len(data)-1], `,"payload":`...)
	return append(append(data, payload...), '}'), nil
}

// Body returns the body that is in the event; a larger one is in the parts.
func (f DeliveryReceived) Body() []byte { return append(append([]byte(nil), f.Payload...), f.Raw...) }

// DeliveryPart: one piece of a body that does not fit into an event. Part counts from 1.
type DeliveryPart struct {
	Hook     HookID     `json:"hook"`
	Delivery DeliveryID `json:"delivery"`
	Part     int        `json:"part"`
	Raw      []byte     `json:"raw"`
}

// byDelivery begins the root of everything that follows from a delivery.
const byDelivery = "delivery:"

// DeliveryRoot returns the root of every event that follows from a delivery. ByDelivery reports whether a root is that
// of a delivery.
func DeliveryRoot(id DeliveryID) string { return byDelivery + string(id) }
func ByDelivery(root string) bool       { return strings.HasPrefix(root, byDelivery) }

// BuiltWord begins the command of a delivery that reported a finished try build; the commit follows.
const BuiltWord = "built "

// PushWord begins DeliveryHandled.Command for a push. The name of the branch follows it.
const PushWord = "push "

// DeliveryHandled: what came of a delivery. It is appended in one batch with all events that came of it.
type DeliveryHandled struct {
	Hook     HookID          `json:"hook"`
	Delivery DeliveryID      `json:"delivery"`
	Outcome  DeliveryOutcome `json:"outcome"`
	// Reason says in words why.
	Reason string   `json:"reason,omitempty"`
	Repo   RepoName `json:"repo,omitempty"`
	PR     int      `json:"pr,omitempty"`
	// Comment is GitHub's number of the comment that asked; 0 when the delivery was no comment.
	Comment  int64  `json:"comment,omitempty"`
	Sender   string `json:"sender,omitempty"`
	SenderID int64  `json:"sender_id,omitempty"`
	// Command is the parsed command in its canonical form.
	Command string `json:"command,omitempty"`
	// Requests are the requests that were created or changed.
	Requests []RequestID `json:"requests,omitempty"`
}

// DeliveryOutcome is the closed set of outcomes of a delivery.
type DeliveryOutcome string

// The outcomes of a delivery.
const (
	// DeliveryAccepted: it was a command, or a trusted message, and it was carried out.
	DeliveryAccepted DeliveryOutcome = "accepted"
	// DeliveryRefused: it was a command that could not be carried out; the answer says why.
	DeliveryRefused DeliveryOutcome = "refused"
	// DeliveryForbidden: its sender may not do that.
	DeliveryForbidden DeliveryOutcome = "forbidden"
	// DeliveryIgnored: it does not concern Tacho.
	DeliveryIgnored DeliveryOutcome = "ignored"
	// DeliveryMalformed: it could not be parsed.
	DeliveryMalformed DeliveryOutcome = "malformed"
)

// ---- request.<id> ----

// RequestBuildFailed: the try build that a request waits for failed. The request keeps waiting for another build.
type RequestBuildFailed struct {
	RequestID RequestID `json:"request_id"`
	Reason    string    `json:"reason"`
	URL       string    `json:"url,omitempty"`
}

// ---- outbox.<key> ----

// CommentWanted: a pull request should have a comment with this text. A later revision with the same key replaces the
// text of that comment.
type CommentWanted struct {
	Key      OutboxKey      `json:"key"`
	Revision int            `json:"revision"`
	Purpose  CommentPurpose `json:"purpose"`
	Repo     RepoName       `json:"repo"`
	PR       int            `json:"pr"`
	Body     string         `json:"body"`
	// RequestID is the request that the comment is about; empty when there is none.
	RequestID RequestID `json:"request_id,omitempty"`
	// Temporary comments are minimised once the report of their request is posted.
	Temporary bool `json:"temporary,omitempty"`
	// AddLabels are set and RemoveLabels are removed together with the comment.
	AddLabels    []string `json:"add_labels,omitempty"`
	RemoveLabels []string `json:"remove_labels,omitempty"`
}

// CommentAttempted: a process of the reporter is about to write the revision to GitHub. Until the next event it is
// unknown whether GitHub has it.
type CommentAttempted struct {
	Key      OutboxKey `json:"key"`
	Revision int       `json:"revision"`
	// Attempt counts from 1; Instance names the process.
	Attempt  int    `json:"attempt"`
	Instance string `json:"instance"`
}

// CommentPosted: the comment is on GitHub with the text of the revision.
type CommentPosted struct {
	Key       OutboxKey `json:"key"`
	Revision  int       `json:"revision"`
	CommentID int64     `json:"comment_id"`
	NodeID    string    `json:"node_id,omitempty"`
	URL       string    `json:"url,omitempty"`
	// Found is set when an earlier attempt wrote it and the answer was lost.
	Found bool `json:"found,omitempty"`
}

// CommentPostponed: GitHub did not take the revision now. The reporter tries again.
type CommentPostponed struct {
	Key      OutboxKey `json:"key"`
	Revision int       `json:"revision"`
	Attempt  int       `json:"attempt"`
	Reason   string    `json:"reason"`
	// Until is when the reporter tries again, an RFC 3339 time in UTC.
	Until string `json:"until"`
}

// CommentRefused: GitHub will never take the revision, for example because the pull request is locked. The reporter
// gave up.
type CommentRefused struct {
	Key      OutboxKey `json:"key"`
	Revision int       `json:"revision"`
	Reason   string    `json:"reason"`
}

// LabelsSet: the pull request has the labels of the revision.
type LabelsSet struct {
	Key      OutboxKey `json:"key"`
	Revision int       `json:"revision"`
}

// CommentMinimised: a temporary comment was minimised on GitHub, or the reporter gave that up.
type CommentMinimised struct {
	Key OutboxKey `json:"key"`
	// Reason says why the reporter gave up; empty when the comment was minimised.
	Reason string `json:"reason,omitempty"`
}

// CommentPurpose is the closed set of reasons to comment.
type CommentPurpose string

// The purposes of a comment.
const (
	// CommentAnswer answers a command.
	CommentAnswer CommentPurpose = "answer"
	// CommentReport is the one report of a request.
	CommentReport CommentPurpose = "report"
)

// The names of things on GitHub.
type (
	// HookID is GitHub's number of a webhook.
	HookID string
	// DeliveryID is GitHub's id of one delivery; a redelivery has the same.
	DeliveryID string
	// RepoName is "owner/name".
	RepoName string
	// OutboxKey names one comment for GitHub.
	OutboxKey string
)

var repoPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,99}/[A-Za-z0-9._-]{1,100}$`)

// CheckRepo reports whether r can name a repository.
func CheckRepo(r RepoName) error {
	if !repoPattern.MatchString(string(r)) {
		return fmt.Errorf("repository %q: write it as owner/name", string(r))
	}
	return nil
}

// Split returns the owner and the name of a repository that CheckRepo accepts.
func (r RepoName) Split() (owner, name string) {
	owner, name, _ = strings.Cut(string(r), "/")
	return owner, name
}

// NewDeliveryID returns the id that GitHub sent, as a token. Text that cannot be a token is replaced by its hash.
func NewDeliveryID(sent string) DeliveryID {
	id := strings.ToLower(sent)
	if CheckToken("delivery", id) != nil {
		id = "x" + shortHash("delivery", sent)
	}
	return DeliveryID(id)
}

// NewHookID returns the number that GitHub sent, as a token; "0" when it sent none. Text that cannot be a token is
// replaced by its hash.
func NewHookID(sent string) HookID {
	switch {
	case sent == "":
		return "0"
	case CheckToken("hook", sent) != nil:
		return HookID("x" + shortHash("hook", sent))
	}
	return HookID(sent)
}

// AnswerKey names the answer to a delivery.
func AnswerKey(hook HookID, id DeliveryID) OutboxKey {
	return OutboxKey("answer-" + shortHash("answer", string(hook), string(id)))
}

// CommentAnswerKey names the answer to a comment. It is the same for every webhook that reports the comment.
func CommentAnswerKey(repo RepoName, comment int64) OutboxKey {
	return OutboxKey("answer-" + shortHash("comment", strings.ToLower(string(repo)), strconv.FormatInt(comment, 10)))
}

// ReportKey names the one report of a request, QueuedKey the comment with its place in the queue, ExpiredKey the
// comment that says that its artifacts did not come in time.
func ReportKey(id RequestID) OutboxKey  { return OutboxKey("report-" + string(id)) }
func QueuedKey(id RequestID) OutboxKey  { return OutboxKey("queued-" + string(id)) }
func ExpiredKey(id RequestID) OutboxKey { return OutboxKey("expired-" + string(id)) }

const markerBegins, markerEnds = "<!-- tacho:", " -->"

// Marker returns the hidden line that ends the comment; the reporter finds the comment again by it. Anybody can write
// such a line.
func (k OutboxKey) Marker() string { return markerBegins + string(k) + markerEnds }

// MarkerOf returns the key in the hidden line at the end of a comment; false when there is no such line.
func MarkerOf(body string) (OutboxKey, bool) {
	body = strings.TrimSpace(body)
	last := body[strings.LastIndexByte(body, '\n')+1:]
	rest, begins := strings.CutPrefix(strings.TrimSpace(last), markerBegins)
	key, ends := strings.CutSuffix(rest, markerEnds)
	if !begins || !ends || key == "" {
		return "", false
	}
	return OutboxKey(key), true
}
