package reporter

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/request"
)

// state is what the reporter knows of the log.
type state struct {
	seq events.Seq
	// reader tells what is litter.
	reader events.Reader
	// suite is the one whose requests count; empty for all.
	suite events.SuiteName
	// outbox holds every comment that is or was wanted.
	outbox map[events.OutboxKey]*entry
	// open are those with something left to do.
	open map[events.OutboxKey]bool
	// about finds the comments about a request.
	about map[events.RequestID][]events.OutboxKey
	// requests are those of pull requests that were ever seen; ended are those without a report.
	requests map[events.RequestID]*request.Request
	ended    map[events.RequestID]events.Seq
	// dropped are those that ended without being measured: nothing will be reported.
	dropped map[events.RequestID]bool
	// reported finds the requests whose report compares an artifact; late are reports of which a side has newer
	// results, with the time of the newest.
	reported map[events.Artifact][]events.RequestID
	late     map[events.RequestID]news
}

// news are results that came after a report.
type news struct {
	seq events.Seq
	at  time.Time
}

// entry is one comment.
type entry struct {
	key events.OutboxKey
	// seq is the last event about it, at the time of it.
	seq events.Seq
	at  time.Time
	// wanted is the newest revision, without its text once that was written: digest tells it from others. wantedAt
	// is when the first one was wanted, root where it began.
	wanted   events.CommentWanted
	digest   [sha256.Size]byte
	wantedAt time.Time
	root     string
	// attempt counts the attempts at the newest revision; instance made the last one of them, while nothing is
	// known of what came of it.
	attempt  int
	instance string
	until    time.Time
	// posted is the revision that stands; 0 for none. comment is GitHub's number of it.
	posted  int
	comment int64
	// refused and labelled are the newest revisions that were given up and whose labels are set.
	refused, labelled int
	minimised         bool
}

func newState() *state {
	return &state{
		outbox: map[events.OutboxKey]*entry{}, open: map[events.OutboxKey]bool{}, about: map[events.RequestID][]events.OutboxKey{},
		requests: map[events.RequestID]*request.Request{}, ended: map[events.RequestID]events.Seq{}, dropped: map[events.RequestID]bool{},
		reported: map[events.Artifact][]events.RequestID{}, late: map[events.RequestID]news{},
	}
}

func (s *state) fold(e events.Recorded) {
	s.seq = e.Seq
	// The others concern neither comments nor requests and their results.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.CommentWanted:
		s.foldWanted(f, e)
	case events.CommentAttempted:
		s.change(f.Key, e, func(x *entry) { x.attempt, x.instance, x.until = f.Attempt, f.Instance, time.Time{} })
	case events.CommentPosted:
		s.change(f.Key, e, func(x *entry) { x.posted, x.comment, x.instance = f.Revision, f.CommentID, "" })
	case events.CommentPostponed:
		s.change(f.Key, e, func(x *entry) { x.instance, x.until = "", timeOf(f.Until) })
	case events.CommentRefused:
		s.change(f.Key, e, func(x *entry) { x.refused, x.instance = f.Revision, "" })
	case events.LabelsSet:
		s.change(f.Key, e, func(x *entry) { x.labelled = f.Revision })
	case events.CommentMinimised:
		s.change(f.Key, e, func(x *entry) { x.minimised = true })
	case events.RequestCreated:
		if f.PR > 0 && f.Kind != events.Release && (s.suite == "" || f.Suite == s.suite) {
			r := request.Evolve(request.Request{}, f, e.Time)
			s.requests[f.RequestID] = &r
		}
	case events.RequestCompleted:
		s.evolve(f.RequestID, e)
		s.end(f.RequestID, e.Seq)
	case events.RequestFailed:
		s.evolve(f.RequestID, e)
		s.end(f.RequestID, e.Seq)
	case events.RequestCancelled, events.RequestCancelledWithJobs, events.RequestExpired, events.RequestSuperseded:
		s.drop(f.(events.RequestFact).Whose())
	case events.RequestFact:
		s.evolve(f.Whose(), e)
	case events.JobFinished:
		s.foldEnd(f, e)
	case events.TestCasesMeasured:
		s.foldResults(f, e)
	}
}

// drop notes that a request has ended without being measured: what was said about it meanwhile is over.
func (s *state) drop(id events.RequestID) {
	if _, ours := s.requests[id]; ours {
		s.dropped[id] = true
	}
}

func (s *state) evolve(id events.RequestID, e events.Recorded) {
	if r, ok := s.requests[id]; ok {
		*r = request.Evolve(*r, e.Fact, e.Time)
		// The jobs are nobody's concern here.
		r.Jobs = nil
	}
}

// end notes that a request of a pull request has ended, and is to be reported.
func (s *state) end(id events.RequestID, seq events.Seq) {
	if _, ours := s.requests[id]; !ours {
		return
	}
	if _, reported := s.outbox[events.ReportKey(id)]; !reported {
		s.ended[id] = seq
	}
}

func (s *state) foldWanted(f events.CommentWanted, e events.Recorded) {
	x, known := s.outbox[f.Key]
	if !known {
		x = &entry{key: f.Key, wantedAt: e.Time, root: e.Root}
		s.outbox[f.Key] = x
		if f.RequestID != "" {
			s.about[f.RequestID] = append(s.about[f.RequestID], f.Key)
		}
	}
	x.wanted, x.digest, x.attempt, x.instance, x.until = f, sha256.Sum256([]byte(f.Body)), 0, "", time.Time{}
	x.seq, x.at = e.Seq, e.Time
	s.open[f.Key] = true
	if f.Key != events.ReportKey(f.RequestID) {
		return
	}
	delete(s.ended, f.RequestID)
	// Results up to the event that caused the wish are in its text.
	if n, ok := s.late[f.RequestID]; ok && n.seq <= e.Cause {
		delete(s.late, f.RequestID)
	}
	if r, ok := s.requests[f.RequestID]; ok && f.Revision == 1 {
		for _, tag := range []events.Tag{r.Artifact.Tag, r.Parent} {
			if tag != "" {
				key := events.Artifact{Suite: r.Artifact.Suite, Tag: tag}
				s.reported[key] = append(s.reported[key], r.ID)
			}
		}
	}
}

// foldResults notes that a report has newer results than it shows.
func (s *state) foldResults(f events.TestCasesMeasured, e events.Recorded) {
	for _, id := range s.reported[events.Artifact{Suite: f.Artifact.Suite, Tag: f.Artifact.Tag}] {
		s.late[id] = news{e.Seq, e.Time}
	}
}

// foldEnd notes that a job has ended of a request that has its report: it was repaired, or is optional.
func (s *state) foldEnd(f events.JobFinished, e events.Recorded) {
	if _, reported := s.outbox[events.ReportKey(f.RequestID)]; reported {
		s.late[f.RequestID] = news{e.Seq, e.Time}
	}
}

func (s *state) change(key events.OutboxKey, e events.Recorded, change func(*entry)) {
	x, ok := s.outbox[key]
	if !ok {
		return
	}
	change(x)
	x.seq, x.at = e.Seq, e.Time
	if x.written() {
		// Years of reports are a lot of text.
		x.wanted.Body = ""
	}
	if s.idle(x) {
		delete(s.open, key)
		return
	}
	s.open[key] = true
}

// written reports whether the newest revision stands or was given up.
func (x *entry) written() bool {
	return x.posted >= x.wanted.Revision || x.refused >= x.wanted.Revision
}

// labels reports whether the labels of the newest revision are still to be set. What is folded away asks for none.
func (x *entry) labels() bool {
	return !x.minimised && x.labelled < x.wanted.Revision && x.refused < x.wanted.Revision && len(x.wanted.AddLabels)+len(x.wanted.RemoveLabels) > 0
}

// idle reports whether nothing is left to do. A temporary comment that stands waits for its report.
func (s *state) idle(x *entry) bool {
	return x.written() && !x.labels() && (x.minimised || !x.wanted.Temporary || x.posted == 0)
}

// over reports whether the request of a comment is over: its report stands, or there will be none.
func (s *state) over(x *entry) bool {
	if x.wanted.RequestID == "" {
		return false
	}
	report, ok := s.outbox[events.ReportKey(x.wanted.RequestID)]
	return ok && report.posted > 0 || s.dropped[x.wanted.RequestID]
}

// leaves returns the labels that a comment set and nobody else takes away: there will be no report about its request,
// and no other request of the pull request is under way.
func (s *state) leaves(x *entry) []string {
	if !s.dropped[x.wanted.RequestID] {
		return nil
	}
	for id, r := range s.requests {
		if r.PR == x.wanted.PR && !r.State.Terminal() && !s.dropped[id] {
			return nil
		}
	}
	return x.wanted.AddLabels
}

// task is the next thing to do for one comment.
type task int

const (
	// write it, or its new text.
	write task = iota
	// giveUp a temporary comment that comes too late and was certainly not written.
	giveUp
	// outdated ones are given up, too: nobody tried to write them for long.
	outdated
	// settled finds out whether a temporary comment that comes too late was written all the same.
	settled
	// label the pull request.
	label
	// minimise a temporary comment.
	minimise
)

type todo struct {
	entry
	task
}

// due returns what is to be done now, oldest first. What another instance is at is left to it until its time is
// over.
func (s *state) due(now time.Time, self string, lease time.Duration) []todo {
	var out []todo
	for _, key := range slices.SortedFunc(maps.Keys(s.open), func(a, b events.OutboxKey) int { return cmp.Compare(s.outbox[a].seq, s.outbox[b].seq) }) {
		x := s.outbox[key]
		if now.Before(x.until) || x.instance != "" && x.instance != self && now.Sub(x.at) < lease {
			continue
		}
		switch {
		case !x.written() && x.wanted.Temporary && s.over(x) && x.attempt == 0:
			out = append(out, todo{*x, giveUp})
		case !x.written() && x.wanted.Temporary && s.over(x):
			out = append(out, todo{*x, settled})
		case !x.written() && x.posted == 0 && x.attempt == 0 && now.Sub(x.at) > within:
			out = append(out, todo{*x, outdated})
		case !x.written():
			out = append(out, todo{*x, write})
		case x.wanted.Temporary && x.posted > 0 && !x.minimised && s.over(x):
			// Before its labels: what the report took away is not to come back.
			out = append(out, todo{*x, minimise})
		case x.labels():
			out = append(out, todo{*x, label})
		}
	}
	return out
}

func timeOf(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}
