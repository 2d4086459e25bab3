package job_test

import (
	"fmt"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
)

// A finish and a loss of one attempt exclude each other: the second one is refused, because the attempt is over.
func ExampleDecide() {
	lane := events.Lane{Target: "linux"}
	var l job.Lane
	var seq events.Seq
	for _, command := range []job.Command{
		job.Dequeue{Place: 1, Job: events.JobSpec{ID: "j1", Target: "linux"}, Collector: "a", Instance: "i", MaxAttempts: 3},
		job.Lose{Token: 1, Reason: "no heartbeat"},
		job.Finish{Token: 1, Outcome: events.Success},
	} {
		facts, err := job.Decide(l, lane, command)
		for _, f := range facts {
			seq++
			l = job.Evolve(l, f, seq, time.Time{})
		}
		fmt.Printf("%d facts, the place is %s: %v\n", len(facts), l.Phase, err)
	}
	// Output:
	// 1 facts, the place is current: <nil>
	// 2 facts, the place is open: <nil>
	// 0 facts, the place is open: the attempt with token 1 is over: the log took another course
}
