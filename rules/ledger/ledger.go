package ledger

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/queue"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/share"
	"github.com/tachobench/tacho/rules/suite"
)

// ArtifactKey names an artifact within the log. A request finds its parent by it.
type ArtifactKey struct {
	Suite events.SuiteName
	Tag   events.Tag
}

// MarshalText implements encoding.TextMarshaler. The name of a suite has no slash.
func (k ArtifactKey) MarshalText() ([]byte, error) {
	return []byte(string(k.Suite) + "/" + string(k.Tag)), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *ArtifactKey) UnmarshalText(text []byte) error {
	suite, tag, ok := strings.Cut(string(text), "/")
	if !ok {
		return fmt.Errorf("%q is not an artifact", text)
	}
	k.Suite, k.Tag = events.SuiteName(suite), events.Tag(tag)
	return nil
}

// KeyOf returns the key of an artifact. The kind of request that it was measured for makes no difference.
func KeyOf(a events.Artifact) ArtifactKey { return ArtifactKey{a.Suite, a.Tag} }

// Ledger is everything that the parts of the core decide on, folded from the log and from nothing else. Make it with
// New; only read its fields. The fields that JSON leaves out are made from the others (snapshot.go).
type Ledger struct {
	// Seq is the last event folded. Versions holds the last event of each subject that is appended to.
	Seq      events.Seq
	Versions map[events.Subject]events.Seq
	// reader decides what is litter. Parks is the last event of the subject park that it obeys (Obey).
	reader events.Reader
	Parks  events.Seq
	// Litter holds the events that changed nothing, by subject. Littered counts all of them.
	Litter   map[events.Subject]Litter
	Littered int
	// Newest is the latest time of an event so far: the ledger's own clock.
	Newest time.Time
	// names holds the strings that jobs share.
	names names
	// at is the time of the event that is being folded, stored is when the log stored it.
	at, stored time.Time

	// Requests are replaced, never changed: a frozen ledger has the same ones.
	Requests map[events.RequestID]*request.Request
	// Pending are the requests that have not ended.
	Pending map[events.RequestID]*request.Request `json:"-"`
	// Running are the pending requests in progress, Waiting those that wait for artifacts. waits are these by their age.
	Running, Waiting map[events.RequestID]bool `json:"-"`
	waits            dues
	// Due are the requests in progress that wait for no required job. Late are those that have yet to ask for what
	// their parent lacks, and whose parent is known; children are those whose parent is not, by parent.
	Due, Late map[events.RequestID]bool `json:"-"`
	children  map[ArtifactKey]map[events.RequestID]bool
	// Ready are the pending requests that may start, by queue.
	Ready map[events.QueueName]map[events.RequestID]bool `json:"-"`
	// Front are those of them that may start, in their order; nil once the farm is shared.
	Front *queue.Front `json:"-"`
	// InProgress counts the requests in progress in each tier of each queue, Outside those before their start, VIPs
	// those in progress of each account in the vip tier.
	InProgress, Outside map[Stand]int              `json:"-"`
	VIPs                map[events.AccountName]int `json:"-"`
	// ByTag finds the first request of an artifact. Tags says which artifacts are done.
	ByTag map[ArtifactKey]events.RequestID
	Tags  queue.Tags `json:"-"`
	// Wishing are the requests with unanswered wishes.
	Wishing map[events.RequestID]bool `json:"-"`
	// Withdrawn are the requests that were cancelled, or had a graph cancelled, and may leave jobs that no request wants.
	Withdrawn map[events.RequestID]bool
	// Torn are requests in progress that lost some of their jobs when another request was cancelled.
	Torn map[events.RequestID]bool
	// Artifacts holds what is known about each artifact from its jobs.
	Artifacts map[ArtifactKey]Artifact
	// Roots says where each request began.
	Roots map[events.RequestID]string
	// Open counts the required jobs that each request in progress waits for.
	Open map[events.RequestID]int
	// Backfilled are requests in progress that have asked for the jobs that their parent lacked.
	Backfilled map[events.RequestID]bool
	// Owed counts the events or jobs still to come of the batch of the newest admission. The log stores a batch as a
	// whole, but a part may read it in pieces. It must not decide on half a batch.
	Owed int
	// Admitted is the newest RequestAdmitted. A batch may begin with several.
	Admitted events.Seq
	// Starting are the requests that the newest admission starts. They keep their places in the tree until their jobs
	// have them.
	Starting []events.RequestID
	// Poison are the requests that failed because they could not be turned into jobs.
	Poison map[events.RequestID]Poison
	// Moved is when work last made progress, Idle when there was last no work to do.
	Moved, Idle time.Time

	// Graphs are those of each request that have not ended, by number. Graphed counts all that it had. Over are the
	// requests that have a graph that can end. in has the places of each job in them.
	Graphs  map[events.RequestID][]*Graph
	Graphed map[events.RequestID]int
	Over    map[events.RequestID]bool `json:"-"`
	// Timed are the requests that have a graph with a deadline. deadlines are these by their deadlines.
	Timed     map[events.RequestID]bool `json:"-"`
	deadlines dues
	in        map[events.JobID][]place
	// Amending are the requests with a graph in which an output was gone.
	Amending map[events.RequestID]bool
	// Blocked counts the blocked jobs of all graphs.
	Blocked int `json:"-"`

	// Jobs are the jobs that a request still holds in memory (rest.go). Past holds the others.
	Jobs map[events.JobID]*Job `json:"-"`
	Past Past                  `json:"-"`
	// busy counts the jobs of each request that do not rest yet (rest.go).
	busy map[events.RequestID]int
	// Outputs are those of jobs, by the name of each once. Spent are the jobs with outputs that have left the memory, the
	// oldest first. yielders are the jobs that yielded what a lane stored (outputs.go).
	Outputs  map[events.JobID][]Yielded
	Spent    []events.JobID
	yielders map[stored][]events.JobID
	// Done are the runs that others may take over, by their keys with whom these may stand for. Alike are the jobs that wait and may take one over, by the
	// request that had them made (reuse.go).
	Done  map[events.Digest]Run
	Alike map[events.RequestID]map[events.JobID]bool `json:"-"`
	keys  keyed
	// Chunks says what each chunk measures, by the id of its first round, since it is decided. Empty are chunks that wait and
	// for which nothing is left.
	Chunks map[events.JobID]*events.Chunk
	Empty  map[events.JobID]bool
	// Lengths holds how long the last jobs took.
	Lengths   Lengths `json:"-"`
	Retention Retention

	// Machines take matched jobs. Classes are those of the matched jobs that wait, Numbered how many there were so far.
	// Binding counts the dispatches still to come of the newest JobsMatched.
	Machines map[events.MachineName]*Machine
	Classes  map[string]*Class
	Numbered share.Class
	Binding  int

	Lanes map[events.Lane]*Lane `json:"-"`
	// LaneOrder holds the lanes sorted by name: the order in which they are handled.
	LaneOrder []events.Lane `json:"-"`
	trail     trail

	// Shared says that the farm is shared: an account, a queue or a priority was named. It stays so.
	Shared bool
	// Accounts and Queues are those that were configured, with their newest settings.
	Accounts map[events.AccountName]events.AccountConfigured
	Queues   map[events.QueueName]events.QueueConfigured
	// Tree says whose turn it is.
	Tree *share.Tree `json:"-"`
	// Seats counts the jobs that wait for dispatch.
	Seats Seats `json:"-"`

	// Blamed are the collectors that failed a job for reasons of their own since their last success.
	Collectors map[events.CollectorName]*Collector
	Blamed     map[events.CollectorName]bool `json:"-"`
	// Keys are the keys that the door accepts now, with their collectors.
	Keys map[string]events.CollectorName

	// Definitions holds the definitions by digest, Lines which of them the branches of each suite use.
	Definitions map[events.Digest]suite.Definitions
	Lines       map[events.SuiteName]suite.Lines
	// Unusable says why definitions that were published cannot be used, by digest.
	Unusable map[events.Digest]string
	// Misnamed has the digests of the definitions that were published under another one. A collector refuses them.
	Misnamed map[events.Digest]events.Digest

	// Alerts are the alerts that stand, from all parts.
	Alerts map[events.AlertKey]Alert
	// Unreachable is when an alert about an unreachable log was last raised.
	Unreachable time.Time

	// Deliveries holds what GitHub delivered, Outbox the comments for GitHub.
	Deliveries Deliveries
	Outbox     Outbox
}

// Litter is the events on a subject that changed nothing: how many, and the last one.
type Litter struct {
	Count int
	// Seq is the last one, Nth its number among all litter of the log.
	Seq events.Seq
	Nth int
	// Collector is the writer that the event names; empty when it could not be read.
	Collector events.CollectorName
	Why       string
}

// Artifact is what is known about an artifact from its jobs.
type Artifact struct {
	// Since is when transient errors with it began; zero when there is none.
	Since time.Time
	// Good is a collector that ran a job of the artifact without a fault. Others says whether there are more such
	// collectors.
	Good   events.CollectorName
	Others bool
}

// Lane is one lane: what was dispatched to it, what waits for it, and which collectors take its jobs.
type Lane struct {
	Work job.Work
	Line
	// Machine is the machine that it is a slot of; empty for the lane of a target.
	Machine events.MachineName `json:",omitempty"`
	// Stopping is set while the dispatched jobs may include some that must not run any more.
	Stopping bool
	// Entered are the requests that hold jobs and had some of them dispatched on the lane.
	Entered map[events.RequestID]bool
	// Assignment says which collectors share the lane and which of them serves it. Served is the last one that served.
	Assignment job.Assignment
	Served     events.CollectorName
	// Dispatches are the dispatches of the jobs that have not ended, by place.
	Dispatches map[uint64]Dispatch
	// Begun is when the log stored the JobDequeued of the current attempt, or of the last one.
	Begun time.Time
	// Forged are the events on the lane's work that do not count (job.Counts).
	Forged map[events.Seq]bool
	// Takers counts the registered collectors that may take its jobs, online or not.
	Takers int
	// Unserved is since when jobs wait but there are no takers; zero when that is not so. UnservedBy is the event that
	// began it.
	Unserved   time.Time
	UnservedBy events.Seq
	// builds says that the collector that serves the lane can build; see noteServer.
	builds bool
	// touched is the last event that touched it (touch.go).
	touched events.Seq
}

// Dispatch is one event that gave a job to a lane.
type Dispatch struct {
	Seq events.Seq
	Job events.JobSpec
	// Since is when transient errors with the artifact began; zero when there are none.
	Since time.Time
	// Attempt and Lost count the executions of the job on the lanes that it was on before, and those that were lost.
	Attempt int `json:",omitempty"`
	Lost    int `json:",omitempty"`
	// Share says to whom it was charged; nil on a farm that was not shared then.
	Share *events.Share `json:",omitempty"`
	// Ready is since when a matched job had waited. If it finds too little memory, it has waited since then.
	Ready time.Time `json:",omitzero"`
}

// HasWork reports whether a job is on the lane or waits for it.
func (l *Lane) HasWork() bool { return len(l.Work.Dispatched)+len(l.Queued) > 0 }

// Collector is one collector.
type Collector struct {
	job.Standing
	// Met is set once one of its processes was online.
	Met bool
	// Matched says that its newest process knows how to execute matched jobs.
	Matched bool
	// Suite2 says that it reads suite files of version 2.
	Suite2 bool
	// Builds says that it can build, and use what others built.
	Builds bool `json:",omitempty"`
	// Fingerprint is that of its newest process, Drivers are the versions in which that measures.
	Fingerprint events.Digest     `json:",omitempty"`
	Drivers     map[string]string `json:",omitempty"`
	// CPUs is how many its newest process found; 0 if that is not known.
	CPUs int `json:",omitempty"`
	// Expected is since when a process of it is expected: it was registered, activated or online then.
	Expected time.Time
	// Updating is since when it is away to update to the version Wanted; zero when it is not. Unfetched says why its
	// newest process could not get the wanted version; empty when nothing failed.
	Updating          time.Time
	Wanted, Unfetched string
	// Quarantine says why it was last quarantined.
	Quarantine string
	// Failed are the jobs of different artifacts that it failed in a row for reasons of its own. Failure is why the
	// last of them failed.
	Failed  []FailedJob
	Failure string
	// Unready counts the times in a row that a command of its machine's own configuration failed; Failure is the last one then.
	Unready int `json:",omitempty"`
	// Unsealed are the jobs that it refused lately because of their seals; nil if it never did.
	Unsealed *Unsealed `json:",omitempty"`
}

// FailedJob is a job that failed, and its artifact.
type FailedJob struct {
	Job      events.JobID
	Artifact ArtifactKey
}

// Lane returns the lane that the collector is registered for; the zero lane when it is not registered.
func (c *Collector) Lane() events.Lane {
	if c.Registered == nil {
		return events.Lane{}
	}
	return c.Registered.Lane()
}

// Alert is an alert that stands: its newest text, and when it was first raised.
type Alert struct {
	events.AlertRaised
	At  time.Time
	Seq events.Seq
}

// Poison is a request that failed because it could not be turned into jobs. Resolved says that its suite has new
// definitions since then.
type Poison struct {
	Suite    events.SuiteName
	Tag      events.Tag
	Reason   string
	At       time.Time
	Cause    events.Seq
	Resolved bool
}

// Stand is where requests stand: a tier of a queue.
type Stand struct {
	Queue events.QueueName
	Tier  events.Tier
}

// New returns the ledger of an empty log.
func New() *Ledger {
	return &Ledger{
		names: newNames(), Versions: map[events.Subject]events.Seq{}, Litter: map[events.Subject]Litter{}, Requests: map[events.RequestID]*request.Request{},
		Pending: map[events.RequestID]*request.Request{}, Running: map[events.RequestID]bool{}, Due: map[events.RequestID]bool{}, Late: map[events.RequestID]bool{}, children: map[ArtifactKey]map[events.RequestID]bool{}, Waiting: map[events.RequestID]bool{}, ByTag: map[ArtifactKey]events.RequestID{},
		Ready: map[events.QueueName]map[events.RequestID]bool{}, Front: queue.NewFront(), InProgress: map[Stand]int{}, Outside: map[Stand]int{}, VIPs: map[events.AccountName]int{},
		Accounts: map[events.AccountName]events.AccountConfigured{}, Queues: map[events.QueueName]events.QueueConfigured{}, Tree: share.New(), Seats: Seats{In: map[events.QueueName]int{}, Of: map[events.AccountName]int{}},
		Wishing: map[events.RequestID]bool{}, Chunks: map[events.JobID]*events.Chunk{}, Empty: map[events.JobID]bool{}, Withdrawn: map[events.RequestID]bool{}, Torn: map[events.RequestID]bool{}, Artifacts: map[ArtifactKey]Artifact{},
		Roots: map[events.RequestID]string{}, Open: map[events.RequestID]int{}, Backfilled: map[events.RequestID]bool{}, Poison: map[events.RequestID]Poison{},
		Graphs: map[events.RequestID][]*Graph{}, Graphed: map[events.RequestID]int{}, Amending: map[events.RequestID]bool{}, Over: map[events.RequestID]bool{}, Timed: map[events.RequestID]bool{}, in: map[events.JobID][]place{},
		Jobs: map[events.JobID]*Job{}, busy: map[events.RequestID]int{}, Outputs: map[events.JobID][]Yielded{}, yielders: map[stored][]events.JobID{}, Done: map[events.Digest]Run{}, Alike: map[events.RequestID]map[events.JobID]bool{}, keys: keyed{map[events.JobID]events.Digest{}, map[events.Digest]map[events.JobID]bool{}}, Lengths: Lengths{}, Lanes: map[events.Lane]*Lane{}, Collectors: map[events.CollectorName]*Collector{}, Blamed: map[events.CollectorName]bool{}, Keys: map[string]events.CollectorName{},
		Definitions: map[events.Digest]suite.Definitions{}, Lines: map[events.SuiteName]suite.Lines{}, Unusable: map[events.Digest]string{}, Misnamed: map[events.Digest]events.Digest{},
		Machines: map[events.MachineName]*Machine{}, Classes: map[string]*Class{},
		Alerts: map[events.AlertKey]Alert{}, Deliveries: newDeliveries(), Outbox: newOutbox(),
	}
}

// lane returns a lane to be changed.
func (l *Ledger) lane(name events.Lane) *Lane {
	lane, ok := l.Lanes[name]
	if !ok {
		lane = &Lane{Line: Line{map[events.RequestID][]events.JobID{}, share.Class(len(l.Lanes))}, Entered: map[events.RequestID]bool{}, Dispatches: map[uint64]Dispatch{}, Forged: map[events.Seq]bool{}}
		l.Lanes[name] = lane
		at, _ := slices.BinarySearchFunc(l.LaneOrder, name, compareLanes)
		l.LaneOrder = slices.Insert(l.LaneOrder, at, name)
	}
	l.touch(name, lane)
	return lane
}

// collector returns a collector to be changed.
func (l *Ledger) collector(name events.CollectorName) *Collector {
	c, ok := l.Collectors[name]
	if !ok {
		c = &Collector{}
		l.Collectors[name] = c
	}
	return c
}

// Collector returns a copy of what is known about a collector; the zero value for an unknown one.
func (l *Ledger) Collector(name events.CollectorName) Collector {
	if c, ok := l.Collectors[name]; ok {
		return *c
	}
	return Collector{}
}

// LastAbout returns the sequence of the last event about a collector, on either of its subjects.
func (l *Ledger) LastAbout(name events.CollectorName) events.Seq {
	return max(l.Versions[events.RegistrySubject(name)], l.Versions[events.CollectorSubject(name)])
}

// ParentOf returns the request for the parent of r, if there is one.
func (l *Ledger) ParentOf(r *request.Request) (*request.Request, bool) {
	if r.Parent == "" {
		return nil, false
	}
	p, ok := l.Requests[l.ByTag[ArtifactKey{r.Artifact.Suite, r.Parent}]]
	return p, ok
}

// Able reports whether there is work that could make progress: a request that is in progress or ready.
func (l *Ledger) Able() bool { return len(l.Pending) > len(l.Waiting) }

// Executed returns the job that is being executed on a lane; nil for none.
func (l *Ledger) Executed(lane *Lane) *Job {
	if lane.Work.Phase != job.Current {
		return nil
	}
	if j := l.Jobs[lane.Work.Job.ID]; j != nil && j.State == events.JobInProgress {
		return j
	}
	return nil
}

// Queued returns the waiting jobs of a lane: those on it, and those that wait for dispatch.
func (l *Ledger) Queued(lane *Lane) []*Job {
	var out []*Job
	add := func(id events.JobID) {
		if j := l.Jobs[id]; j != nil && j.State == events.JobQueued {
			out = append(out, j)
		}
	}
	for _, id := range lane.Work.Dispatched {
		add(id)
	}
	for _, ids := range lane.Queued {
		for _, id := range ids {
			add(id)
		}
	}
	return out
}
