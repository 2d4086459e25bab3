package job

import (
	"time"

	"github.com/tachobench/tacho/events"
)

// Evolve returns the state after f was recorded at seq. Each fact of a lane carries the whole state: the last fact
// alone, applied to the zero value, gives the same.
func Evolve(l Lane, f events.Fact, seq events.Seq, at time.Time) Lane {
	// Only the facts of a lane's work concern it.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.JobDequeued:
		return Lane{
			Place: f.Place, Phase: Current, JobID: f.Job.ID, Job: f.Job, Collector: f.Collector, Instance: f.Instance,
			Token: seq, Attempt: f.Attempt, Lost: f.Lost, StartedAt: at, Since: Time(f.Since),
		}
	case events.JobFinished:
		ended := Lane{
			Place: f.Place, Phase: Ended, JobID: f.JobID, Collector: f.Collector, Token: f.Token, Attempt: f.Attempt, Lost: f.Lost,
		}
		if f.Failing != nil {
			ended.Failing, ended.Since = *f.Failing, Time(f.Since)
		}
		return ended
	case events.AttemptLost:
		return Lane{
			Place: f.Place, Phase: Open, JobID: f.JobID, Collector: f.Collector, Token: f.Token, Attempt: f.Attempt, Lost: f.Lost,
		}
	case events.AttemptReleased:
		return Lane{
			Place: f.Place, Phase: Open, JobID: f.JobID, Collector: f.Collector, Token: f.Token, Attempt: f.Attempt, Lost: f.Lost, Since: Time(f.Since),
			Full: f.HostFull,
		}
	case events.JobMoved:
		return Lane{
			Place: f.Place, Phase: Ended, JobID: f.JobID, Collector: f.Collector, Token: f.Token, Attempt: f.Attempt, Lost: f.Lost,
		}
	}
	return l
}

// Time parses a time that an event holds as text, in RFC 3339. For a text that it cannot parse it returns the zero
// time: the budget then starts again.
func Time(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return t
}
