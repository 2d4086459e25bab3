package projector

import (
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/rules/queue"
	"github.com/tachobench/tacho/rules/suite"
)

// state is what the folds need to know of the tables, and what they changed. It holds all rows that can still change:
// requests, jobs and graphs that have not ended, running attempts, collectors and assignments. It keeps jobs that have ended
// while their request is in progress, for its estimates. Other ended requests and jobs are in it only
// while a batch names them (see prefetch).
//
// It is a copy of the tables and no second truth: it is filled from them at the start and thrown away when a
// transaction fails. The session owns it.
type state struct {
	maxInProgress int

	requests    map[events.RequestID]*requestRow
	jobs        map[events.JobID]*jobRow
	identities  map[identity]events.JobID
	lanes       map[events.Lane]*attemptRow // the current attempts
	works       map[events.Lane]*laneRow
	collectors  map[events.CollectorName]*collectorRow
	assignments map[assignmentKey]assignmentRow
	alerts      map[events.AlertKey]*alertRow // those that stand
	deliveries  map[deliveryKey]*deliveryRow  // those that the batch names; the same for outbox
	outbox      map[events.OutboxKey]*outboxRow
	accounts    map[events.AccountName]*accountRow
	namedQueues map[events.QueueName]*namedQueueRow
	machines    map[events.MachineName]*machineRow
	warm        map[events.MachineName]match.Warm
	policy      *readmodel.SharePolicy // nil if none was set
	lines       map[lineKey]*lineRow
	graphs      map[graphKey]*openGraph
	places      map[events.JobID][]place // in open graphs

	// What the queue is made of, besides the requests and jobs that have not ended.
	tags      queue.Tags
	durations queue.History
	lengths   map[queue.Sort]*durationsRow // the same as durations, as rows
	uses      map[queue.Sort]*useRow       // what the last matched jobs of each sort used
	templates map[template]*made
	plansOf   map[definitionKey]*suite.Definitions // those needed lately; nil if they cannot be read
	asOf      time.Time
	// queueWaits says that the queue has changed since its order was written.
	queueWaits bool
	queue      []queueRow
	entries    []queue.Entry // a buffer for the order

	changes
}

// changes is what one batch of events did to the tables.
type changes struct {
	dirtyRequests    map[events.RequestID]bool
	dirtyJobs        map[events.JobID]bool
	counted          map[events.JobID]bool // jobs with more test cases measured; of most of them nothing else changed
	dirtyAttempts    map[events.Seq]*attemptRow
	dirtyLanes       map[events.Lane]bool
	dirtyCollectors  map[events.CollectorName]bool
	dirtyAssignments map[assignmentKey]bool
	dirtyAlerts      map[events.AlertKey]bool
	dirtyDeliveries  map[deliveryKey]bool
	dirtyOutbox      map[events.OutboxKey]bool
	dirtyDurations   map[*durationsRow]bool
	dirtyUses        map[*useRow]bool
	dirtyTemplates   map[template]bool
	dirtyAccounts    map[events.AccountName]bool
	dirtyQueues      map[events.QueueName]bool
	dirtyMachines    map[events.MachineName]bool
	dirtyGraphs      map[graphKey]bool
	dirtyWarm        map[warmKey]bool
	policyChanged    bool
	shares           map[shareRow]*shareRow // what the batch adds, by tier, queue and account; the same for usages
	usages           map[usageRow]*usageRow
	retirements      []retirement
	newDefinitions   []definitionRow
	dirtyLines       map[lineKey]bool
	noises           []noiseFound
	takenOver        []takenOver
	results          []resultRow
	blocks           []blockRow
	errors           []errorRow
	outputs          map[outputKey]outputRow
	diagnostics      []diagnosticRow
	stale            int
	refused          int
	queueChanged     bool

	// Rows that were read for this batch only.
	guestRequests []events.RequestID
	// retired are the jobs of this batch that have left the tables.
	retired map[events.JobID]bool
}

func newState(maxInProgress int) *state {
	s := &state{
		maxInProgress: max(maxInProgress, 1),
		requests:      make(map[events.RequestID]*requestRow),
		jobs:          make(map[events.JobID]*jobRow),
		identities:    make(map[identity]events.JobID),
		lanes:         make(map[events.Lane]*attemptRow),
		works:         make(map[events.Lane]*laneRow),
		collectors:    make(map[events.CollectorName]*collectorRow),
		assignments:   make(map[assignmentKey]assignmentRow),
		alerts:        make(map[events.AlertKey]*alertRow),
		deliveries:    make(map[deliveryKey]*deliveryRow),
		outbox:        make(map[events.OutboxKey]*outboxRow),
		accounts:      make(map[events.AccountName]*accountRow),
		namedQueues:   make(map[events.QueueName]*namedQueueRow),
		machines:      make(map[events.MachineName]*machineRow),
		lines:         make(map[lineKey]*lineRow),
		graphs:        make(map[graphKey]*openGraph),
		places:        make(map[events.JobID][]place),
		warm:          make(map[events.MachineName]match.Warm),
		lengths:       make(map[queue.Sort]*durationsRow),
		uses:          make(map[queue.Sort]*useRow),
		templates:     make(map[template]*made),
		plansOf:       make(map[definitionKey]*suite.Definitions),
	}
	s.begin()
	return s
}

// begin forgets the changes of the batch before.
func (s *state) begin() {
	s.changes = changes{
		dirtyRequests:    make(map[events.RequestID]bool),
		dirtyJobs:        make(map[events.JobID]bool),
		counted:          make(map[events.JobID]bool),
		outputs:          make(map[outputKey]outputRow),
		dirtyAttempts:    make(map[events.Seq]*attemptRow),
		dirtyLanes:       make(map[events.Lane]bool),
		dirtyCollectors:  make(map[events.CollectorName]bool),
		dirtyAssignments: make(map[assignmentKey]bool),
		dirtyAlerts:      make(map[events.AlertKey]bool),
		dirtyDeliveries:  make(map[deliveryKey]bool),
		dirtyOutbox:      make(map[events.OutboxKey]bool),
		dirtyDurations:   make(map[*durationsRow]bool),
		dirtyUses:        make(map[*useRow]bool),
		dirtyTemplates:   make(map[template]bool),
		dirtyAccounts:    make(map[events.AccountName]bool),
		dirtyQueues:      make(map[events.QueueName]bool),
		dirtyMachines:    make(map[events.MachineName]bool),
		dirtyGraphs:      make(map[graphKey]bool),
		dirtyWarm:        make(map[warmKey]bool),
		dirtyLines:       make(map[lineKey]bool),
		shares:           make(map[shareRow]*shareRow),
		usages:           make(map[usageRow]*usageRow),
		retired:          make(map[events.JobID]bool),
	}
}

// forget drops rows that have ended, after they were written.
func (s *state) forget() {
	s.forgetAlerts()
	s.forgetGitHub()
	s.forgetGraphs()
	for id := range s.dirtyRequests {
		s.guestRequests = append(s.guestRequests, id)
	}
	for _, id := range s.guestRequests {
		if r := s.requests[id]; r != nil && r.State.Terminal() {
			delete(s.requests, id)
		}
	}
	for id, j := range s.jobs {
		if r := s.requests[j.RequestID]; j.State.Terminal() && (r == nil || r.State != events.StateInProgress) {
			delete(s.jobs, id)
			delete(s.identities, j.identity())
		}
	}
	s.forgetPlans()
}

func (s *state) addRequest(r *requestRow) { s.requests[r.ID] = r }

func (s *state) addJob(j *jobRow) {
	s.jobs[j.ID] = j
	s.identities[j.identity()] = j.ID
}

// identity is what no two jobs share. Lists of benchmarks are compared as they are.
type identity struct {
	suite      events.SuiteName
	tag        events.Tag
	kind       events.JobKind
	part       events.Lane
	backend    events.Backend
	profile    events.Profile
	benchmarks string
	measures   string
	matched    bool
	requires   string
	against    events.Tag
	sample     string
	recipe     events.Digest
	chunk      int
	chunks     int
	round      int
}

func (j *jobRow) identity() identity {
	return identity{
		suite: j.Suite, tag: j.Tag, kind: j.Kind, part: j.part(), backend: j.Backend, profile: j.Profile,
		benchmarks: joined(j.Benchmarks), measures: joined(j.Measures), matched: j.Matched, requires: joined(j.Requires),
		against: j.Against, sample: j.Sample, recipe: j.Recipe, chunk: j.Chunk, chunks: j.Chunks, round: j.Round,
	}
}

// joined makes one text of a list. Different lists give different texts.
func joined(list []string) string {
	var b []byte
	for _, s := range list {
		for i := range len(s) {
			if s[i] == ',' || s[i] == '\\' {
				b = append(b, '\\')
			}
			b = append(b, s[i])
		}
		b = append(b, ',')
	}
	return string(b)
}

// byCreation sorts jobs into the order in which they were made.
func byCreation(jobs []*jobRow) {
	slices.SortFunc(jobs, func(a, b *jobRow) int {
		if a.CreatedSeq != b.CreatedSeq {
			if a.CreatedSeq < b.CreatedSeq {
				return -1
			}
			return 1
		}
		return a.Ordinal - b.Ordinal
	})
}
