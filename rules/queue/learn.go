package queue

import "time"

// Own predicts how long the jobs of requests in progress will take from the jobs that these requests have done already.
// It is for jobs without similar ones in the history, such as those of the first request of a suite. The zero value has
// seen no job.
type Own struct {
	took  time.Duration
	cases int
	ended []time.Duration
}

// Ended records a job that has ended, with the number of its test cases that were measured. A job that measured nothing
// is ignored: it does not tell how long others take.
func (o *Own) Ended(took time.Duration, cases int) {
	if took <= 0 || cases <= 0 {
		return
	}
	took = min(took, longest)
	o.ended = append(o.ended, took)
	o.add(took, cases)
}

// Runs records a running job, with the number of its test cases that are measured so far.
func (o *Own) Runs(elapsed time.Duration, cases int) {
	if elapsed > 0 && cases > 0 {
		o.add(min(elapsed, longest), cases)
	}
}

func (o *Own) add(took time.Duration, cases int) {
	o.took = min(o.took+took, longest)
	o.cases += cases
}

// Expect returns how long a job with this number of test cases should take; 0 cases means that the number is unknown.
// It uses the average time per test case, or else the median of the jobs that have ended.
func (o *Own) Expect(cases int) Expected {
	switch {
	case cases > 0 && o.cases > 0:
		return proportional(o.took, o.cases, cases)
	case len(o.ended) > 0:
		return Known(median(o.ended))
	}
	return Expected{}
}

// ExpectRunning returns how long a job should take in all when some of its test cases are measured already.
func (o *Own) ExpectRunning(elapsed time.Duration, done, cases int) Expected {
	if elapsed <= 0 || done <= 0 || cases <= 0 {
		return o.Expect(cases)
	}
	return proportional(elapsed, done, max(done, cases))
}

// proportional returns how long all takes when a part of it took this long.
func proportional(took time.Duration, part, all int) Expected {
	return Known(time.Duration(min(float64(took)*float64(all)/float64(part), float64(longest))))
}
