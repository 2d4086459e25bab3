package job

import "github.com/tachobench/tacho/events"

// Counts reports whether a fact on the work of a lane fits the lane's state: it is about the job, the place and the
// attempt that the lane holds, or it begins the job that was dispatched at the next place. A fact that does not fit
// comes from a collector that wrote more than it may; it changes nothing.
//
// dispatched returns the job that waits or runs at a place.
func Counts(l Lane, f events.WorkFact, dispatched func(place uint64) (events.JobID, bool)) bool {
	begins := func(place uint64, id events.JobID) bool {
		next := place == l.Place+1 && l.Phase == Ended || l.Place == 0
		waiting, ok := dispatched(place)
		return place > 0 && ok && waiting == id && (next || place == l.Place && l.Phase == Open)
	}
	holds := func(token events.Seq, place uint64, id events.JobID, name events.CollectorName) bool {
		return l.holds(token) == nil && place == l.Place && id == l.JobID && name == l.Collector
	}
	switch f := f.(type) {
	case events.JobDequeued:
		return begins(f.Place, f.Job.ID) && f.Collector != ""
	case events.JobFinished:
		if f.Outcome != events.Success && f.Outcome != events.Failure && f.Outcome != events.Cancelled {
			return false // it would end the place, but never the job
		}
		return holds(f.Token, f.Place, f.JobID, f.Collector) || f.Token == 0 && begins(f.Place, f.JobID)
	case events.AttemptLost:
		return holds(f.Token, f.Place, f.JobID, f.Collector)
	case events.AttemptReleased:
		return holds(f.Token, f.Place, f.JobID, f.Collector)
	case events.JobMoved:
		return begins(f.Place, f.JobID)
	}
	return false
}
