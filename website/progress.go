package website

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// progress is how much of something is done; Total is 0 if it is unknown.
type progress struct {
	Done, Total int
	// What says what is counted; Label says it to people who have the page read to them.
	What, Label string
}

func progressOf(r readmodel.Request) progress {
	j := r.Jobs
	return progress{j.Success + j.Failure + j.Cancelled, j.Total, "jobs", "jobs done"}
}

// jobView is a job with its progress at this moment.
type jobView struct {
	Job readmodel.Job
	// State is that of the job as people see it. Because says because of which job it is skipped; empty if it is not.
	State, Because string
	// Progress is nil unless the job is running.
	Progress *progress
	// Benchmark is what is being measured; empty if unknown.
	Benchmark events.Benchmark
	// Held is what the running job waits for before it goes on; empty while it runs.
	Held string
	// Machine is the machine on which a matched job runs or ran; empty if it has none, and for other jobs.
	Machine events.MachineName
}

// newJobView takes the progress from the heartbeat of the collector that runs the job. Without one it knows how many
// test cases were reported, but not the total.
func newJobView(j readmodel.Job, machines []client.Collector) jobView {
	v := jobView{Job: j, State: j.Shown(), Machine: machineOf(j, machines)}
	if j.State != events.JobInProgress {
		return v
	}
	for _, m := range machines {
		h := m.Heartbeat
		if m.Name != j.Collector || h == nil || h.JobID != j.ID {
			continue
		}
		v.Held = h.Waits
		if h.Total > 0 {
			v.Benchmark = h.Benchmark
			v.Progress = &progress{h.Done, h.Total, "test cases", "test cases measured by " + string(m.Name)}
			return v
		}
	}
	v.Progress = &progress{Done: j.Measured, What: "test cases measured"}
	return v
}

// machineOf returns the machine that a matched job is bound to: that of its collector, or of the one of its lane.
func machineOf(j readmodel.Job, machines []client.Collector) (name events.MachineName) {
	if !j.Matched || j.Lane() == (events.Lane{}) {
		return ""
	}
	for _, m := range machines {
		if m.Name == j.Collector && m.Lane() == j.Lane() {
			return m.Collector.Machine
		}
		if m.Lane() == j.Lane() && m.RemovedAt == nil {
			name = m.Collector.Machine
		}
	}
	return name
}

// machineView is a collector with its running job.
type machineView struct {
	client.Collector
	// Current is nil if it runs no job.
	Current *jobView
}

func newMachines(machines []client.Collector) []machineView {
	list := make([]machineView, len(machines))
	for i, m := range machines {
		list[i].Collector = m
		if m.CurrentJob != nil {
			v := newJobView(*m.CurrentJob, machines)
			list[i].Current = &v
		}
	}
	return list
}

// statusView is the status as its page shows it.
type statusView struct {
	client.Status
	Running []runningView
	// Lately are the alerts that were cleared in the last day.
	Lately []readmodel.Alert
	// Places are the first places of the queue.
	Places   queueTable
	Machines []machineView
}

// runningView is a request in progress, lane by lane.
type runningView struct {
	readmodel.Request
	Link     link
	Progress progress
	Lanes    []laneView
	// Place is the request's place in the queue; it is zero if there is none.
	Place readmodel.QueueEntry
}

// laneView is the work of one lane for a request.
type laneView struct {
	Lane       events.Lane
	Key        string
	Collectors []client.Collector
	Current    *jobView
	// Jobs are its jobs, or the first ones of a request with many. More counts the others, and Link leads to them.
	Jobs   []readmodel.Job
	More   int
	Link   template.URL
	Total  int
	Done   int
	Failed int
}

// Left returns how many jobs have not ended.
func (l laneView) Left() int { return l.Total - l.Done }

func newStatusView(s client.Status) statusView {
	v := statusView{Status: s, Lately: lately(s.PastAlerts, s.Now), Machines: newMachines(s.Collectors), Places: newQueueTable(s.Queue, s.QueueTotal)}
	for _, r := range s.InProgress {
		running := runningView{Request: r.Request, Link: newLink(r.ID, r.Tag, r.Key), Progress: progressOf(r.Request)}
		for _, q := range s.Queue {
			if q.RequestID == r.ID {
				running.Place = q
			}
		}
		running.Lanes = lanesOf(r, s.Collectors)
		v.Running = append(v.Running, running)
	}
	return v
}

// laneJobsShown is how many jobs of a lane the front page shows, if their request has many.
const laneJobsShown = 10

// lanesOf sorts the jobs of a request by lane, matched jobs by what they measure.
func lanesOf(r readmodel.RequestJobs, machines []client.Collector) []laneView {
	lanes := map[events.Lane]*laneView{}
	for _, j := range r.JobList {
		l := lanes[j.Part()]
		if l == nil {
			l = &laneView{Lane: j.Part(), Key: fmt.Sprintf("%s-%s-%d", r.ID, j.Target, j.Set)}
			lanes[j.Part()] = l
		}
		l.Jobs = append(l.Jobs, j)
		l.Total++
		if j.State.Terminal() {
			l.Done++
		}
		switch j.State {
		case events.JobFailure:
			l.Failed++
		case events.JobInProgress:
			v := newJobView(j, machines)
			l.Current = &v
		case events.JobQueued, events.JobSuccess, events.JobCancelled:
		}
	}
	for _, m := range machines {
		lane := m.Lane()
		if c := m.CurrentJob; c != nil && c.Matched && c.RequestID == r.ID {
			lane = c.Part()
		}
		if l := lanes[lane]; l != nil && m.Active {
			l.Collectors = append(l.Collectors, m)
		}
	}
	list := make([]laneView, 0, len(lanes))
	if len(r.JobList) > readmodel.MaxListed {
		for _, l := range lanes {
			l.More = max(l.Total-laneJobsShown, 0)
			l.Jobs = l.Jobs[:l.Total-l.More]
			l.Link = template.URL("/requests/" + url.PathEscape(string(r.ID)) + foldLink(readmodel.JobFold{Graph: -1, Target: l.Lane.Target, Set: int(l.Lane.Set)}))
		}
	}
	for _, l := range slices.SortedFunc(maps.Values(lanes), func(a, b *laneView) int {
		return cmp.Or(strings.Compare(string(a.Lane.Target), string(b.Lane.Target)), cmp.Compare(a.Lane.Set, b.Lane.Set))
	}) {
		list = append(list, *l)
	}
	return list
}
