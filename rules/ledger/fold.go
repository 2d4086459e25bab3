package ledger

import (
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
	"github.com/tachobench/tacho/rules/request"
)

// Take folds one stored event and returns its fact, or nil for litter and for events that it does not decode. It does
// not decode results (outputs.go) and the pieces of large deliveries: nothing is decided on either. Litter still counts
// for the version of its subject: the next writer there must have seen it.
func (l *Ledger) Take(m events.Stored) (events.Fact, error) {
	family := m.Subject.Family()
	if _, left := l.reader.Parks().Of(m.Seq); left {
		family = ""
	}
	switch family {
	case "result":
		return l.takeResult(m)
	case "delivery":
		if events.Tells[events.DeliveryPart](m) {
			l.Seq = m.Seq
			l.Deliveries.part(m.Subject, m.Seq)
			return nil, nil
		}
	}
	e, parked, err := l.reader.Understand(m)
	switch {
	case err != nil:
		return nil, err
	case parked != "": // the projector archives it
		l.skip(m, parked)
		return nil, nil
	}
	l.foldOn(m.Subject, e, m.StoredAt)
	return e.Fact, nil
}

// Fold applies one event that is on the subject of its fact, as if the log had stored it when it was decided.
func (l *Ledger) Fold(e events.Recorded) { l.foldOn(e.Fact.Subject(), e, e.Time) }

// foldOn applies one event of a subject. In earlier versions some facts had another subject. It cannot fail: if the log
// says it, it happened.
func (l *Ledger) foldOn(subject events.Subject, e events.Recorded, stored time.Time) {
	l.Seq, l.at, l.stored = e.Seq, e.Time, stored
	l.Outbox.forget(e.Seq, stored)
	if l.foldGitHub(e) { // deliveries and comments hold their own versions
		return
	}
	l.Versions[subject] = e.Seq
	if startsSharing(e.Fact) {
		l.Shared, l.Front = true, nil
	}
	if !l.Able() {
		defer func() { l.Idle = later(l.Idle, stored) }()
	}
	if e.Time.After(l.Newest) {
		l.Newest = e.Time
	}
	defer l.leavePlaces()
	// Nothing here is decided on the others.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.RequestFact:
		l.foldRequest(f, e)
	case events.AdmissionFact:
		l.foldAdmission(f)
	case events.JobDispatched:
		l.foldDispatched(f, e)
	case events.WorkFact:
		l.foldWork(f, e)
	case events.OutputStored:
		l.foldOutput(f)
	case events.CollectorFact:
		l.foldCollector(f)
	case events.AssignmentFact:
		l.foldAssignment(f)
	case events.ShareFact:
		l.foldShare(f)
	case events.MachineFact:
		l.foldMachine(f)
	case events.JobsMatched:
		l.Binding = len(f.Bindings)
	case events.DefinitionsPublished:
		l.foldDefinitions(f)
	case events.DefinitionsPromoted:
		l.Lines[f.Suite] = l.Lines[f.Suite].Evolve(f)
		l.mendPoison(f.Suite)
	case events.DefinitionsRejected:
		l.Lines[f.Suite] = l.Lines[f.Suite].Evolve(f)
	case events.JobsRetired:
		l.Retention.retired(f, e.Time)
		l.forgetDone(f)
	case events.AlertRaised:
		l.foldRaised(f)
	case events.AlertCleared:
		delete(l.Alerts, f.Key)
	}
}

// drop notes an event that changes nothing: litter.
func (l *Ledger) drop(on events.Subject, seq events.Seq, by events.CollectorName, why string) {
	l.Littered++
	l.Litter[on] = Litter{Count: l.Litter[on].Count + 1, Seq: seq, Nth: l.Littered, Collector: by, Why: why}
}

func (l *Ledger) foldAdmission(f events.AdmissionFact) {
	switch f := f.(type) {
	case events.RequestAdmitted:
		if l.Admitted+1 != l.Seq {
			l.Owed = 0 // a new batch
		}
		l.Owed++
		l.Admitted = l.Seq
	case events.BackfillAdmitted:
		l.Backfilled[f.RequestID], l.Owed = true, f.Jobs+f.Graphs
		l.noteLate(f.RequestID)
	case events.GraphAdmitted:
		l.Owed = f.Jobs + f.Graphs
	}
}

// foldRequest applies a fact of a request's life to the request and to its jobs.
func (l *Ledger) foldRequest(f events.RequestFact, e events.Recorded) {
	id := f.Whose()
	_, pending := l.Pending[id]
	l.recall(id)
	defer l.releaseJobs(id)
	waits := pending && !l.Running[id]
	l.reseat(l.seatedBy(id, f), func() {
		l.evolve(id, f, e.Time)
		l.prioritise(id, f)
	})
	if _, still := l.Pending[id]; pending && !still {
		l.Moved = later(l.Moved, l.stored)
	}
	l.foldAsked(f, pending)
	// The others change only the request.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.RequestCreated:
		l.Roots[id] = e.Root
	case events.RequestFailed:
		l.foldPoison(id)
	case events.RequestStarted:
		l.Owed = max(l.Owed-1, 0) + f.Jobs + f.Backfill + f.Graphs
		if !waits {
			break
		}
		l.Moved = later(l.Moved, l.stored)
		l.share(id, f.Shared)
		l.Backfilled[id] = f.Backfill > 0 || l.parentHasAll(id)
		l.noteLate(id)
	case events.JobsCreated:
		made := l.foldJobs(f)
		if f.Graph != nil {
			l.takeUp(id, f)
			l.foldPart(f, made)
		}
		l.mend(id)
		l.Owed = max(0, l.Owed-len(f.Jobs))
	case events.GraphCreated:
		l.foldGraphCreated(f)
	case events.GraphEnded:
		l.foldGraphEnded(f)
	case events.JobForced:
		l.force(f)
	case events.JobReused:
		l.foldReused(f)
	case events.GraphCancelled:
		if g := l.graph(id, f.Graph); g != nil {
			g.Expired = g.Expired || f.Expired
			l.cancelGraph(g)
		}
		l.stop(id)
	case events.RequestCancelled:
		for _, g := range l.Graphs[id] {
			if pending && (g.Kind.Sampled() || g.Kind == events.GraphAdded) {
				l.cancelGraph(g)
			}
		}
		l.stop(id)
	case events.RequestCancelledWithJobs:
		if pending {
			l.withdraw(f, l.ownJobs(id))
		}
		l.stop(id)
	case events.JobsWithdrawn:
		l.withdraw(f, f.Jobs)
		note(l.Withdrawn, id, l.Withdrawn[id] && len(l.Unwanted(id)) > 0) // those of a graph that ended may be others
	}
}

func (l *Ledger) evolve(id events.RequestID, f events.RequestFact, at time.Time) {
	var before request.Request
	if known, ok := l.Requests[id]; ok {
		before = *known
	}
	r := request.Evolve(before, f, at)
	if !r.Exists() {
		return
	}
	if !before.Exists() && l.busy[id] > 0 {
		r.Jobs = l.madeBefore(id)
	}
	l.Requests[id] = &r
	l.unsort(&before)
	l.sort(&r)
	l.keepPlace(&before, &r)
	if r.State.Terminal() {
		delete(l.Backfilled, id)
		delete(l.Torn, id)
		delete(l.Open, id)
		l.noteLate(id)
	}
	l.noteDue(id)
	l.noteOver(id)
	l.Tags.Leave(before.Artifact.Suite, before.Artifact.Tag, before.State)
	l.Tags.Enter(r.Artifact.Suite, r.Artifact.Tag, r.State)
	l.front(&before, &r)
	if r.Artifact.Tag == "" {
		return
	}
	if _, taken := l.ByTag[KeyOf(r.Artifact)]; !taken {
		l.ByTag[KeyOf(r.Artifact)] = id
		l.noteParent(KeyOf(r.Artifact))
	}
}

// unsort takes a request out of the sets for its state.
func (l *Ledger) unsort(r *request.Request) {
	delete(l.Running, r.ID)
	delete(l.Waiting, r.ID)
	delete(l.Wishing, r.ID)
	delete(l.Pending, r.ID)
	delete(l.Ready[r.Queue], r.ID)
	if len(l.Ready[r.Queue]) == 0 {
		delete(l.Ready, r.Queue)
	}
	l.count(r, -1)
}

// count counts a request that has not ended.
func (l *Ledger) count(r *request.Request, n int) {
	at := Stand{r.Queue, r.Priority.Tier()}
	switch {
	case !r.Exists() || r.State.Terminal():
		return
	case r.State != events.StateInProgress:
		add(l.Outside, at, n)
		return
	case at.Tier == events.TierVIP:
		add(l.VIPs, r.Account, n)
	}
	add(l.InProgress, at, n)
}

// add adds to a count, and forgets it when it is 0.
func add[K comparable](counts map[K]int, k K, n int) {
	counts[k] += n
	if counts[k] == 0 {
		delete(counts, k)
	}
}

// sort puts a request into the sets for its state.
func (l *Ledger) sort(r *request.Request) {
	l.count(r, 1)
	// The other states need no set of their own.
	//exhaustive:ignore
	switch r.State {
	case events.StateInProgress:
		l.Running[r.ID] = true
	case events.StateWaitingForArtifacts:
		l.Waiting[r.ID] = true
		l.waits.add(due{r.CreatedAt, r.ID}, l.Waiting)
	case events.StateArtifactsReady:
		if l.Ready[r.Queue] == nil {
			l.Ready[r.Queue] = map[events.RequestID]bool{}
		}
		l.Ready[r.Queue][r.ID] = true
	}
	if len(r.Wishes) > 0 {
		l.Wishing[r.ID] = true
	}
	if !r.State.Terminal() {
		l.Pending[r.ID] = r
	}
}

// mend takes a request out of Torn if none of the jobs that it knows is cancelled any more. One that waits for a round of
// another request stays: that round can be cancelled, too.
func (l *Ledger) mend(id events.RequestID) {
	if l.Torn[id] && !slices.ContainsFunc(l.knownRounds(l.Requests[id]), func(j *Job) bool { return j.State == events.JobCancelled }) {
		delete(l.Torn, id)
	}
}

// wants notes that a request wants a job. If the request is in progress and the job is required, no sample, and has not
// ended, Open counts it.
func (l *Ledger) wants(id events.JobID, r events.RequestID, key string) {
	j, ok := l.Jobs[id]
	if !ok {
		return
	}
	over := j.State.Terminal()
	if over && j.State == events.JobCancelled && l.Running[r] {
		l.Torn[r] = true
	}
	w := Wanter{Request: events.RequestID(l.names.once(string(r))), Counts: !over && !j.like.Optional && !j.Sampled() && l.Running[r], Repair: key != ""}
	if w.Counts {
		l.Open[r]++
		l.noteDue(r)
	}
	l.reseat([]events.JobID{id}, func() { l.hold(j, w) })
}

// Wanted reports whether a job that has not ended should still run.
func (l *Ledger) Wanted(j *Job) bool {
	return slices.ContainsFunc(j.wantedBy(), func(w Wanter) bool { return w.Repair || !w.Looks && !l.Stopped(w.Request) })
}

// stop notes that a request or a graph was cancelled: it may leave jobs that no request wants any more.
func (l *Ledger) stop(id events.RequestID) {
	if len(l.Unwanted(id)) > 0 {
		l.Withdrawn[id] = true
	}
	for _, name := range l.LaneOrder {
		lane := l.Lanes[name]
		for _, j := range lane.Work.Dispatched {
			lane.Stopping = lane.Stopping || l.Astray(l.Jobs[j])
		}
		if lane.Stopping {
			l.touch(name, lane)
		}
	}
}

// Astray reports whether a job on a lane must not run any more.
func (l *Ledger) Astray(j *Job) bool {
	return j != nil && (j.State.Terminal() || !l.Wanted(j))
}

// Unwanted returns the jobs of a request that are on no lane and that no request wants, in the order they
// were made.
func (l *Ledger) Unwanted(id events.RequestID) []events.JobID {
	r, ok := l.Requests[id]
	if !ok {
		return nil
	}
	var out []events.JobID
	add := func(id events.JobID) {
		if j, ok := l.Jobs[id]; ok && j.State == events.JobQueued && j.Place == 0 && !l.Wanted(j) {
			out = append(out, id)
		}
	}
	for _, id := range r.Jobs {
		add(id)
	}
	for _, id := range r.Shared {
		add(id)
	}
	return out
}

// ownJobs returns the jobs that a request had made and that are in memory, in their order.
func (l *Ledger) ownJobs(id events.RequestID) []events.JobID {
	return slices.DeleteFunc(slices.Clone(l.Requests[id].Jobs), func(job events.JobID) bool {
		j, ok := l.Jobs[job]
		return !ok || j.of.request != id
	})
}

// withdraw ends those of the jobs that are on no lane.
func (l *Ledger) withdraw(f events.Fact, jobs []events.JobID) {
	for _, id := range jobs {
		j, ok := l.Jobs[id]
		if !ok {
			continue
		}
		l.live(j, f, l.Seq)
		if j.State.Terminal() {
			l.noteUnserved(j.Lane())
			l.rest(j)
		}
	}
}

// unqueue takes a job out of the queue for dispatch, if it is in it.
func (l *Ledger) unqueue(j *Job) {
	delete(l.Empty, j.ID)
	if !j.lined {
		return
	}
	line := l.lineOf(j)
	waiting := line.Queued[j.of.request]
	switch i := slices.Index(waiting, j.ID); {
	case i == 0: // mostly, and then none of the others moves
		waiting[0] = ""
		waiting = waiting[1:]
	case i > 0:
		waiting = slices.Delete(waiting, i, i+1)
	}
	j.lined = false
	l.noteAlike(j)
	line.Queued[j.of.request] = waiting
	if len(waiting) == 0 {
		delete(line.Queued, j.of.request)
	}
	if j.like.Matched {
		l.close(j, len(waiting) == 0)
	}
}

func (l *Ledger) foldDispatched(f events.JobDispatched, e events.Recorded) {
	l.Binding = max(l.Binding-1, 0)
	if f.Job.Matched && f.Job.On == nil {
		return // to no lane
	}
	lane := l.lane(f.Job.Lane())
	if !lane.Work.Dispatch(f) {
		return
	}
	j := l.revive(f.Job)
	if j != nil && j.Lane() != f.Job.Lane() && (!j.like.Matched || j.On != (events.Lane{})) {
		l.bury(j)
		j = nil // it has another lane
	}
	if j == nil || j.State.Terminal() || j.Place > 0 {
		f.Share = nil // what was withdrawn at the same moment is charged to no account
	}
	lane.Dispatches[f.Place] = Dispatch{Seq: e.Seq, Job: f.Job, Since: job.Time(f.Since), Attempt: f.Attempt, Lost: f.Lost, Share: f.Share, Ready: l.readyOf(j)}
	l.charge(f.Share)
	l.reserve(lane, f.Job)
	if j != nil {
		l.live(j, f, e.Seq)
		if !j.like.Matched {
			lane.Entered[j.of.request] = true
		}
		lane.Stopping = lane.Stopping || l.Astray(j)
		l.rest(j)
	}
	l.tookUnits(f.Job)
	l.movedOn(f.Job.Lane())
}

// OnLane reports whether a job was dispatched and its place has not ended.
func (l *Ledger) OnLane(j *Job) bool {
	lane, ok := l.Lanes[j.Lane()]
	return ok && j.Place > 0 && lane.Work.Dispatched[j.Place] == j.ID
}

// foldWork applies a fact on the work of a lane. A fact that does not count is litter.
func (l *Ledger) foldWork(f events.WorkFact, e events.Recorded) {
	lane := l.lane(f.Where())
	j, ok := l.Jobs[f.Which()]
	if dequeued, is := f.(events.JobDequeued); is && ok {
		dequeued.Job = l.dispatched(lane, dequeued.Place, j) // do not trust the collector's copy of the job
		f = dequeued
	}
	before, begun := lane.Work.Lane, lane.Begun
	if !lane.Work.Take(f, e.Seq, e.Time) {
		lane.Forged[e.Seq] = true
		l.drop(f.Subject(), e.Seq, writer(f), "it is not about the job, place and attempt that the lane holds")
		return
	}
	place := lane.Dispatches[lane.Work.Place]
	l.correct(place, before, begun, f)
	l.foldFull(lane, place.Job, begun, f)
	lane.Stopping = lane.Stopping && len(lane.Work.Dispatched) > 0
	if lane.Work.Phase == job.Ended {
		l.vacate(lane, place.Job)
		if finished, ok := f.(events.JobFinished); ok {
			l.warm(lane, place.Job, finished.Evicted)
			l.foldUnsealed(finished, e.Seq)
		}
		delete(lane.Dispatches, lane.Work.Place)
	}
	if _, begins := f.(events.JobDequeued); begins {
		lane.Begun = l.stored
	}
	defer l.foldMoved(f)
	if !ok || j.Lane() != f.Where() { // a collector must not touch jobs of other lanes
		return
	}
	switch f := f.(type) {
	case events.AttemptLost:
		l.foldLoser(f)
	case events.AttemptReleased:
		l.foldReleased(j, f)
	case events.JobFinished:
		l.foldKey(j, f, e.Seq)
		l.foldFault(j, f)
		if !j.Sampled() { // it may measure a part only
			l.learn(j, f)
		}
		l.Outbox.finished(j.of.request, News{e.Seq, l.stored})
		l.foldGone(j, f, place.Job.Inputs, e.Seq)
		delete(l.Versions, events.ResultSubject(f.Lane, f.JobID))
	case events.JobMoved:
		delete(l.Versions, events.ResultSubject(f.Lane, f.JobID))
	case events.JobDequeued:
	}
	l.live(j, f, e.Seq)
	if _, moved := f.(events.JobMoved); moved {
		since := l.at
		if before.Full != nil { // it has waited all the time
			since = place.Ready
		}
		l.reseat([]events.JobID{j.ID}, func() { l.back(j, since) })
		for _, w := range j.wantedBy() { // it was cancelled while it ran, and its lane cannot end it any more
			note(l.Withdrawn, w.Request, l.Withdrawn[w.Request] || !l.Wanted(j))
		}
	}
	l.rest(j)
}

// writer returns the collector that a fact names as its writer.
func writer(f events.WorkFact) events.CollectorName {
	switch f := f.(type) {
	case events.JobDequeued:
		return f.Collector
	case events.JobFinished:
		return f.Collector
	case events.AttemptLost:
		return f.Collector
	case events.AttemptReleased:
		return f.Collector
	case events.JobMoved:
		return f.Collector
	}
	return ""
}

// live applies a fact to a job's life.
func (l *Ledger) live(j *Job, f events.Fact, seq events.Seq) {
	over, place := j.State.Terminal(), j.Place
	var skipped []events.RequestID // those that do not wait for it any more
	for _, w := range j.wantedBy() {
		if _, is := l.Skips(w.Request, j); is {
			skipped = append(skipped, w.Request)
		}
	}
	l.reseat([]events.JobID{j.ID}, func() {
		j.fares(func(c *course) {
			if c.Life, _ = job.Live(c.Life, f, seq, l.at); c.Token == seq {
				c.Since = l.stored
			}
			bind(c, j, f)
			c.Collector = events.CollectorName(l.names.once(string(c.Collector)))
		})
	})
	if j.State != events.JobQueued || j.Place > 0 { // whatever stands in the log before: it waits in no line any more
		l.unqueue(j)
	}
	if place == 0 && j.Place > 0 {
		l.beginInGraphs(j)
	}
	if over || !j.State.Terminal() {
		return
	}
	l.Retention.add(l.at)
	for _, w := range j.wantedBy() {
		if w.Counts && l.Open[w.Request] > 0 && !slices.Contains(skipped, w.Request) {
			l.Open[w.Request]--
			l.noteDue(w.Request)
		}
		if j.State == events.JobCancelled && l.Running[w.Request] && !j.Sampled() {
			l.Torn[w.Request] = true
		}
	}
	l.endInGraphs(j)
}
