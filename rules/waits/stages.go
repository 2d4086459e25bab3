package waits

import "time"

// Instants are what happened to a request. The zero time means that it has not happened.
type Instants struct {
	Created time.Time
	// Ready is when its artifacts were there, Started when its jobs were made, and Ended when it ended.
	Ready   time.Time
	Started time.Time
	Ended   time.Time
	// Reported is when its report was on GitHub, or given up. Reports says that one is wanted.
	Reported time.Time
	Reports  bool
}

// Stages is the time of a request in four parts without gaps, in milliseconds. Their sum is its whole time.
type Stages struct {
	// ArtifactMS is until its artifacts are there, AdmissionMS until its jobs are made, ExecutionMS until it ends, and ReportMS
	// until its report is on GitHub. A request that ends early ends in one of the first two, and has no time in
	// those between that and its report.
	ArtifactMS  int64 `json:"artifact_ms"`
	AdmissionMS int64 `json:"admission_ms"`
	ExecutionMS int64 `json:"execution_ms"`
	ReportMS    int64 `json:"report_ms"`
	WholeMS     int64 `json:"whole_ms"`
	// Open says that the request goes on, so that its last stage still grows.
	Open bool `json:"open,omitempty"`
}

// Split splits the time of a request, until now if it goes on. Each instant is cut to a millisecond first, and one that is
// before an earlier one counts as that: so the parts add up exactly, and none is negative.
func (i Instants) Split(now time.Time) Stages {
	over, open := i.Over()
	if open {
		over = now
	}
	created := i.Created.UnixMilli()
	end := max(over.UnixMilli(), created)
	// What did not happen took no time: the stage before it lasts until what happened next.
	ends := [...]time.Time{i.Ready, i.Started, i.Ended, over}
	for stage := len(ends) - 2; stage >= 0; stage-- {
		if ends[stage].IsZero() {
			ends[stage] = ends[stage+1]
		}
	}
	at, ms := created, [len(ends)]int64{}
	for stage, until := range ends {
		next := min(max(until.UnixMilli(), at), end)
		ms[stage], at = next-at, next
	}
	return Stages{ArtifactMS: ms[0], AdmissionMS: ms[1], ExecutionMS: ms[2], ReportMS: ms[3], WholeMS: end - created, Open: open}
}

// Over returns when the request was over, with its report; open if it is not.
func (i Instants) Over() (at time.Time, open bool) {
	switch {
	case i.Ended.IsZero() || i.Reports && i.Reported.IsZero():
		return time.Time{}, true
	case i.Reported.After(i.Ended):
		return i.Reported, false
	}
	return i.Ended, false
}
