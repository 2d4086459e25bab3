package events

// RequestState is the closed set of states of a request.
type RequestState string

// The states of a request. Completed, failed, cancelled, expired and superseded are terminal.
const (
	WaitingForArtifacts RequestState = "waiting_for_artifacts"
	ArtifactsReady      RequestState = "artifacts_ready"
	InProgress          RequestState = "in_progress"
	RequestDone         RequestState = "completed"
	RequestFailure      RequestState = "failed"
	RequestStopped      RequestState = "cancelled"
	RequestTimedOut     RequestState = "expired"
	RequestReplaced     RequestState = "superseded"
)

// Terminal reports whether a request in this state never changes again.
func (s RequestState) Terminal() bool {
	switch s {
	case RequestDone, RequestFailure, RequestStopped, RequestTimedOut, RequestReplaced:
		return true
	case WaitingForArtifacts, ArtifactsReady, InProgress:
		return false
	}
	return false
}

// JobState is the closed set of states of a job.
type JobState string

// The states of a job. Success, failure and cancelled are terminal.
const (
	JobQueued     JobState = "queued"
	JobInProgress JobState = "in_progress"
	JobSuccess    JobState = "success"
	JobFailure    JobState = "failure"
	JobCancelled  JobState = "cancelled"
)

// Terminal reports whether a job in this state never changes again.
func (s JobState) Terminal() bool {
	switch s {
	case JobSuccess, JobFailure, JobCancelled:
		return true
	case JobQueued, JobInProgress:
		return false
	}
	return false
}
