package readmodel

import (
	"encoding/hex"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/waits"
)

// Result is one row of table result: a test case of an artifact with its samples.
type Result struct {
	Suite events.SuiteName `json:"suite"`
	Tag   events.Tag       `json:"tag"`
	events.MeasuredCase
	Collector events.CollectorName `json:"collector"`
	// Environment is the fingerprint of the machine that measured. Machine is its name, if the artifact may have results
	// of the test case from several machines: the jobs were matched.
	Environment events.Digest    `json:"environment"`
	Machine     string           `json:"machine,omitempty"`
	Token       events.Seq       `json:"token"`
	Attempt     int              `json:"attempt"`
	JobID       events.JobID     `json:"job_id"`
	RequestID   events.RequestID `json:"request_id"`
	Definitions events.Digest    `json:"definitions"`
	MeasuredAt  time.Time        `json:"measured_at"`
	Seq         events.Seq       `json:"seq"`
	// ReusedFrom is the run that measured it, if JobID took that over; empty for what JobID measured itself.
	ReusedFrom events.JobID `json:"reused_from,omitempty"`
}

// Series is the history of one metric of one test case on one machine. It shows how large the noise is.
type Series struct {
	events.TestCase
	Metric      events.Metric `json:"metric"`
	Environment events.Digest `json:"environment"`
	// Tags and Minima belong together, newest first: Minima has the smallest value over the iterations of each tag.
	Tags   []events.Tag `json:"tags"`
	Minima []float64    `json:"minima"`
}

// CaseDuration is how long a test case takes.
type CaseDuration struct {
	events.TestCase
	// Seconds is the wall time of all its iterations, as the median over the last ten artifacts that have results on its
	// target; nil if none was recorded. It does not include what a job does around the iterations.
	Seconds *float64 `db:"seconds" json:"seconds"`
	// Artifacts counts those of them for which the machine that measured its benchmark last has a result.
	Artifacts int `db:"artifacts" json:"artifacts"`
}

// Event is an EventRow in the form for people: a message of the log as it came, with its link of the chain of hashes.
type Event struct {
	Seq     events.Seq     `json:"seq"`
	Subject events.Subject `json:"subject"`
	// Type is the stored name without its prefix, such as "request.created.v1".
	Type   string `json:"type"`
	ID     string `json:"event_id"`
	Source string `json:"source"`
	// Time is nil when the event's own time cannot be read.
	Time     *time.Time        `json:"time"`
	Actor    events.Actor      `json:"actor"`
	Cause    events.Seq        `json:"cause"`
	Root     string            `json:"root"`
	StoredAt time.Time         `json:"stored_at"`
	Headers  map[string]string `json:"headers"`
	// Data is the JSON of the fact. Stored bytes that are no JSON are here as a JSON string.
	Data events.RawJSON `json:"data"`
	// Chain is the SHA-256, in hex, over everything up to and including this event.
	Chain events.Digest `json:"chain"`
	// Parked says why no table took the event; it is empty unless the event is malformed.
	Parked string `json:"parked,omitempty"`
}

// Link is a link of the chain of hashes. As text it is hexadecimal.
type Link []byte

// MarshalText returns the link in hexadecimal.
func (l Link) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, l), nil }

// UnmarshalText reads a link in hexadecimal.
func (l *Link) UnmarshalText(text []byte) (err error) {
	*l, err = hex.AppendDecode(nil, text)
	return err
}

// Cursor is the row of projection_cursor: how far the log has been folded into the tables.
type Cursor struct {
	// One is always true: it is the key, so there is one row.
	One bool `db:"one" json:"-"`
	// Version is the version of the folds.
	Version   int        `db:"version" json:"version"`
	Seq       events.Seq `db:"seq" json:"seq"`
	EventID   string     `db:"event_id" json:"event_id"`
	EventTime *time.Time `db:"event_time" json:"event_time"`
	Chain     Link       `db:"chain" json:"chain"`
	// Identity names the log; empty before the first event.
	Identity string `db:"identity" json:"identity"`
	// DuplicateResults counts test cases that were reported again and ignored; StaleReports, reports of attempts
	// that were not the current ones; ParkedEvents, malformed and refused events.
	DuplicateResults int64 `db:"duplicate_results" json:"duplicate_results"`
	StaleReports     int64 `db:"stale_reports" json:"stale_reports"`
	ParkedEvents     int64 `db:"parked_events" json:"parked_events"`
	// QueueAsOf is the time at which the estimates of the queue were made.
	QueueAsOf *time.Time `db:"queue_as_of" json:"-"`
	// Parks is the last event about parked events that the tables obey.
	Parks events.Seq `db:"parks" json:"-"`
}

// Status is everything that a status page shows, read in one snapshot.
type Status struct {
	Cursor Cursor `json:"cursor"`
	// Queue are the first places of the queue, at most 200. QueueTotal is how many there are.
	Queue      []QueueEntry `json:"queue"`
	QueueTotal int          `json:"queue_total"`
	// InProgress are the requests in progress with their jobs, in queue order.
	InProgress []RequestJobs `json:"in_progress"`
	// OtherQueues are the requests of other queues than the main one that have not ended, by queue, at most 200.
	OtherQueues []Request `json:"other_queues,omitempty"`
	// Completed are the last requests that ended after they had started, newest first.
	Completed []EndedRequest `json:"completed"`
	// Collectors are all that were ever registered, by name.
	Collectors []Collector `json:"collectors"`
	// Definitions are the current ones, without their content.
	Definitions []Definition `json:"definitions"`
	// Alerts are those that stand, oldest first; PastAlerts are the last cleared ones, newest first.
	Alerts     []Alert `json:"alerts"`
	PastAlerts []Alert `json:"past_alerts"`
}

// RequestJobs is a request with the jobs that were made for it, but for samples, in the order of their creation.
type RequestJobs struct {
	Request
	JobList []Job `json:"job_list"`
	// Why says why the request has not started; nil if it has, and if its place in the main queue says it.
	Why *RequestWhy `json:"why,omitempty"`
	// Rest says when its jobs are expected to end; nil for requests of the main queue, and for those that have ended.
	Rest *RequestRest `json:"rest,omitempty"`
	// Stages are how its time was spent, by the clock of the log; until now, if it goes on.
	Stages *waits.Stages `json:"stages,omitempty"`
}

// EndedRequest is a request that ended, with the errors that its jobs recorded.
type EndedRequest struct {
	Request
	ErrorList []JobError `json:"error_list"`
}

// JobHistory is a job with all its attempts and errors, oldest first.
type JobHistory struct {
	Job
	AttemptList []Attempt  `json:"attempt_list"`
	ErrorList   []JobError `json:"error_list"`
	// Alike is what the last ten matched jobs of its sort used, newest first; none for a job that is not matched.
	Alike []JobUse `json:"alike,omitempty"`
	// SampleOf says what it is a sample of; nil for a job of the base series.
	SampleOf *SampleOf `json:"sample_of,omitempty"`
	// OutputList is what it stored, outputs before uploads. StaleInput says that it uses an output of a job that has failed
	// since.
	OutputList []JobOutput `json:"outputs,omitempty"`
	StaleInput bool        `json:"stale_input,omitempty"`
	// Diagnostics are what its commands had to say; nil for nothing.
	Diagnostics *JobDiagnostics `json:"diagnostics,omitempty"`
}
