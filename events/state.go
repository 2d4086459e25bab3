package events

// RequestState is the closed set of states of a request.
type RequestState string

// The states of a request. Completed, failed, cancelled, expired and superseded are terminal.
const (
	StateWaitingForArtifacts RequestState = "waiting_for_artifacts"
	StateArtifactsReady      RequestState = "artifacts_ready"
	StateInProgress          RequestState = "in_progress"
	StateCompleted           RequestState = "completed"
	StateFailed              RequestState = "failed"
	StateCancelled           RequestState = "cancelled"
	StateExpired             RequestState = "expired"
	StateSuperseded          RequestState = "superseded"
)

// Terminal reports whether a request in this state never changes again.
func (s RequestState) Terminal() bool {
	switch s {
	case StateCompleted, StateFailed, StateCancelled, StateExpired, StateSuperseded:
		return true
	case StateWaitingForArtifacts, StateArtifactsReady, StateInProgress:
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
