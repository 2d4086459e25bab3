package queue

import "time"

// Own tells how long the jobs of requests in progress will take from what these requests have done themselves. It is
// for jobs that are like none in the history, such as those of the first request of a suite. The zero value has seen
// nothing.
type Own struct {
	took  time.Duration
	cases int
	ended []time.Duration
}

// Ended records a job that has ended, with the number of its test cases that were measured. Only jobs
// that measured something tell how long others take.
func (o *Own) Ended(took time.Duration, cases int) {
	if took <= 0 || cases <= 0 {
		return
	}
	took = min(took, longest)
	o.ended = append(o.ended, took)
	o.add(took, cases)
}

// Runs records a job that runs, with the number of its test cases that are measured.
func (o *Own) Runs(elapsed time.Duration, cases int) {
	if elapsed > 0 && cases > 0 {
		o.add(min(elapsed, longest), cases)
	}
}

func (o *Own) add(took time.Duration, cases int) {
	o.took = min(o.took+took, longest)
	o.cases += cases
}

// Expect returns how long a job with so many test cases should take, 0 of them when nobody knows how many it has: as
// long as so many took on the average, or else as the jobs that have ended took.
func (o *Own) Expect(cases int) Expected {
	switch {
	case cases > 0 && o.cases > 0:
		return proportional(o.took, o.cases, cases)
	case len(o.ended) > 0:
		return Known(median(o.ended))
	}
	return Expected{}
}

// ExpectRunning returns how long a job should take in all of which some test cases are measured.
func (o *Own) ExpectRunning(elapsed time.Duration, done, cases int) Expected {
	if elapsed <= 0 || done <= 0 || cases <= 0 {
		return o.Expect(cases)
	}
	return proportional(elapsed, done, max(done, cases))
}

// proportional returns how long all of something takes of which a part took so long.
func proportional(took time.Duration, part, all int) Expected {
	return Known(time.Duration(min(float64(took)*float64(all)/float64(part), float64(longest))))
}
