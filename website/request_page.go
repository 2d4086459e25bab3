package website

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/graph"
)

// requestView is a request as its page shows it.
type requestView struct {
	readmodel.RequestJobs
	// Place is nil if the request is not in the queue.
	Place    *readmodel.QueueEntry
	Progress progress
	// Rows are its jobs. If they are too many, Folds counts them, Troubled are some that failed or are skipped, and Unfolded
	// those that the query names; nil if it names none.
	Rows      []jobView
	Folds     []foldRow
	Troubled  []jobView
	Unfolded  *unfoldedView
	ErrorList []readmodel.JobError
	// Repairable says that the newest round of some job of the request failed or was cancelled.
	Repairable bool
	// Graphs are the graphs of the request; none if its jobs need no others and it has no samples.
	Graphs []graphView
	// MoreGraphs counts those that are left out.
	MoreGraphs int
	// Off is what is switched off for the request; nil if nothing is.
	Off *offView
	// Said is what its jobs had to say, by graph.
	Said []graphSaid
	// Comments are the comments about the request, newest first.
	Comments []readmodel.Comment
	// Session is who looks at the page; nil if that is unknown. Shared says that the farm is shared.
	Session *session
	Shared  bool
	// At is the last event that the page knows.
	At events.Seq
}

// may reports whether who looks at the request may change it in a way that needs a right.
func (v requestView) may(right events.Right) bool {
	return v.Session.mayChange(v.RequestJobs.Request.Account, right)
}

// MayRepair reports whether who looks at the request may run again what failed.
func (v requestView) MayRepair() bool {
	return v.StartedAt != nil && v.Repairable && v.may(events.RightRerun)
}

// MayRetrigger reports whether who looks at the request may take more samples of its jobs.
func (v requestView) MayRetrigger() bool {
	return v.StartedAt != nil && v.may(events.RightRetrigger)
}

// MayNoise reports whether who looks at the request may take more samples of the parent.
func (v requestView) MayNoise() bool { return v.ParentTag != "" && v.MayRetrigger() }

// MayAskAgain reports whether who looks at the request may have its jobs measured again.
func (v requestView) MayAskAgain() bool { return v.MayRepair() || v.MayRetrigger() }

// TroubledTitle says which jobs are Troubled.
func (v requestView) TroubledTitle() string {
	what := "Failed jobs"
	if slices.ContainsFunc(v.Troubled, func(j jobView) bool { return j.State == string(graph.Skipped) }) {
		what = "Failed and skipped jobs"
	}
	if len(v.Troubled) == troubledShown {
		what += fmt.Sprintf(", the first %d", troubledShown)
	}
	return what
}

// MoreErrors counts the errors that the page leaves out.
func (v requestView) MoreErrors() int { return max(v.Errors-len(v.ErrorList), 0) }

// MayPrioritise reports whether who looks at the request may give it another priority.
func (v requestView) MayPrioritise() bool {
	return v.EndedAt == nil && v.Shared && v.may(events.RightPrioritise)
}

// MayCancel reports whether who looks at the request may withdraw it.
func (v requestView) MayCancel() bool { return v.EndedAt == nil && v.may(events.RightCancel) }

// MayChange reports whether who looks at the request may change it.
func (v requestView) MayChange() bool { return v.MayPrioritise() || v.MayCancel() }

// Tells reports whether the page tells the commands that change the request: it cannot know who looks at it.
func (v requestView) Tells() bool { return v.EndedAt == nil && v.Shared && v.Session == nil }

// Lacks returns the rights that the account of the session lacks to change its own request.
func (v requestView) Lacks() (out []events.Right) {
	if !v.Session.owns(v.RequestJobs.Request.Account) {
		return nil
	}
	needed := []events.Right{events.RightPrioritise, events.RightCancel}
	if v.EndedAt != nil {
		needed = nil
	}
	if v.Repairable {
		needed = append(needed, events.RightRerun)
	}
	if v.StartedAt != nil {
		needed = append(needed, events.RightRetrigger)
	}
	for _, right := range needed {
		if !v.may(right) {
			out = append(out, right)
		}
	}
	return out
}

// Choices returns the priorities that the request may get, and the one that it has.
func (v requestView) Choices() (out []priorityChoice) {
	now := v.RequestJobs.Request.Priority.Level()
	for i, p := range events.Priorities {
		if i == now || i >= v.Session.MaxPriority.Level() {
			out = append(out, priorityChoice{p, i == now})
		}
	}
	return out
}

// priorityChoice is a priority to choose; Now marks the present one.
type priorityChoice struct {
	Priority events.Priority
	Now      bool
}

// errorsShown is how many errors a page shows.
const errorsShown = 50

// requestPage shows a request. What is too much for a page is counted, and its query says what is shown all the same.
func (s *Server) requestPage(r *http.Request) (view, error) {
	fold, chosen, err := wantedFold(r)
	if err != nil {
		return view{}, err
	}
	id, err := s.Reader.FindRequestID(r.Context(), r.PathValue("request"))
	if err != nil {
		return view{}, err
	}
	found, err := s.Reader.RequestFolded(r.Context(), id)
	if err != nil {
		return view{}, err
	}
	if found.Rest, err = s.Reader.Rest(r.Context(), found.Request, s.waits()); err != nil {
		return view{}, err
	}
	if found.Stages, err = s.Reader.Stages(r.Context(), found.Request, s.Clock()); err != nil {
		return view{}, err
	}
	v := requestView{RequestJobs: found.RequestJobs, Repairable: found.Repairable, Progress: progressOf(found.Request), Shared: s.sharing(r.Context())}
	if v.Session, _ = sessionOf(r.Context()); v.MayAskAgain() {
		if v.At, err = s.now(r); err != nil {
			return view{}, err
		}
	}
	if err = s.about(r, &v); err != nil {
		return view{}, err
	}
	machines, err := s.machines(r)
	if err != nil {
		return view{}, err
	}
	graphs, more, err := s.Reader.GraphsShown(r.Context(), id, fold.Graph)
	if err != nil {
		return view{}, err
	}
	v.MoreGraphs = more
	if v.Graphs, err = s.graphViews(r, found.Suite, graphs); err != nil {
		return view{}, err
	}
	v.Off, err = s.offOf(r, found.Request)
	if err != nil {
		return view{}, err
	}
	for i := range min(len(graphs), timingsShown) {
		if !v.Graphs[i].Drawn || v.Graphs[i].Folded {
			continue
		}
		if v.Graphs[i].Timings, err = s.timingsOf(r.Context(), graphs[i].Graph); err != nil {
			return view{}, err
		}
	}
	skipped := skippedBecause(graphs)
	for _, j := range found.JobList {
		row := newJobView(j, machines)
		row.inGraphs(skipped)
		v.Rows = append(v.Rows, row)
	}
	if found.Fold != nil {
		v.Folds = newFoldRows(*found.Fold)
		if slices.ContainsFunc(found.Fold.Boxes, func(b graph.Box) bool { return trouble(b) < 2 }) {
			if v.Troubled, err = s.troubled(r, id, machines); err != nil {
				return view{}, err
			}
		}
	}
	if chosen && (fold.Graph >= 0 || found.Fold != nil) {
		if v.Unfolded, err = s.unfolded(r, id, fold, machines); err != nil {
			return view{}, err
		}
	}
	return view{template: "request", title: strings.TrimSpace(string(found.Kind) + " " + short(string(found.Tag))), data: v}, nil
}

// about reads what is said about a request: errors, comments, and its place in the queue.
func (s *Server) about(r *http.Request, v *requestView) (err error) {
	if v.ErrorList, err = s.Reader.FirstErrors(r.Context(), v.ID, errorsShown); err != nil {
		return err
	}
	said, err := s.Reader.Diagnostics(r.Context(), v.ID)
	if err != nil {
		return err
	}
	v.Said = newGraphsSaid(said)
	if v.Comments, err = s.Reader.Comments(r.Context(), readmodel.CommentFilter{Request: v.ID}); err != nil {
		return err
	}
	if v.State.Terminal() {
		return nil
	}
	found, err := s.Reader.PlaceOf(r.Context(), v.ID)
	if err == nil && len(found.List) > 0 {
		v.Place = &found.Seen(s.Clock())[0]
	}
	return err
}
