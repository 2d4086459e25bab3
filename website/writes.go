package website

import (
	"context"
	"net/http"
	"strconv"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/seal"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/website/client"
)

func requestAnswer(r request.Request, a control.Answer) client.RequestAnswer {
	return client.RequestAnswer{
		Answer: a, RequestID: r.ID, Suite: r.Artifact.Suite, Kind: r.Kind, Tag: r.Artifact.Tag, ParentTag: r.Parent, State: r.State,
		Account: r.Account, Queue: r.Queue, Priority: r.Priority, Requires: r.AskedRequires(),
	}
}

// commanded reads the body of a command into v and returns on whose behalf it is done.
func commanded(w http.ResponseWriter, r *http.Request, v any) (control.By, error) {
	if err := body(w, r, v); err != nil {
		return control.By{}, err
	}
	return by(r)
}

func (s *Server) createRequest(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	var n control.NewRequest
	who, err := commanded(w, r, &n)
	if err != nil {
		return nil, err
	}
	if n.Kind, err = events.ParseRequestKind(string(n.Kind)); err != nil {
		return nil, wrong(http.StatusBadRequest, "", "%s", err)
	}
	if err := s.complete(r.Context(), &n); err != nil {
		return nil, err
	}
	n.Fresh = true // if not, the log refuses it, and it is read
	made, answer, err := s.Control.CreateRequest(r.Context(), who, n)
	return noted(requestAnswer(made, answer), n), err
}

// complete fills in what callers may leave out of a request: the only suite, and the end of a cut hash.
func (s *Server) complete(ctx context.Context, n *control.NewRequest) error {
	if n.Suite == "" {
		// A suite that was published a moment ago counts too.
		if err := s.caughtUp(ctx); err != nil {
			return err
		}
		var err error
		if n.Suite, err = s.onlySuite(ctx); err != nil {
			return err
		}
	}
	return s.abbreviated(ctx, &n.Tag, &n.Parent)
}

func (s *Server) cancelRequest(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	var why client.Reason
	who, err := commanded(w, r, &why)
	if err != nil {
		return nil, err
	}
	id, err := s.requestToChange(r)
	if err != nil {
		return nil, err
	}
	made, answer, err := s.Control.CancelRequest(r.Context(), who, id, why.Reason)
	return requestAnswer(made, answer), err
}

func (s *Server) artifactsReady(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	var a client.Artifacts
	who, err := commanded(w, r, &a)
	if err != nil {
		return nil, err
	}
	id, err := s.requestToChange(r)
	if err != nil {
		return nil, err
	}
	if err := s.abbreviated(r.Context(), &a.Tag, &a.ParentTag); err != nil {
		return nil, err
	}
	made, answer, err := s.Control.ArtifactsReady(r.Context(), who, id, a.Tag, a.ParentTag)
	return requestAnswer(made, answer), err
}

func (s *Server) addCollector(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	var n control.NewCollector
	who, err := commanded(w, r, &n)
	if err != nil {
		return nil, err
	}
	return s.Control.AddCollector(r.Context(), who, n)
}

func (s *Server) activateCollector(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	return s.toCollector(w, r, func(ctx context.Context, who control.By, name events.CollectorName, _ string) (control.Answer, error) {
		return s.Control.ActivateCollector(ctx, who, name)
	})
}

func (s *Server) deactivateCollector(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	var how control.Deactivation
	return aboutCollector(w, r, &how, func(ctx context.Context, who control.By, name events.CollectorName) (control.Answer, error) {
		return s.Control.DeactivateCollector(ctx, who, name, how)
	})
}

func (s *Server) drainCollector(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	return s.toCollector(w, r, s.Control.DrainCollector)
}

func (s *Server) rotateKey(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	var key client.NewKey
	return aboutCollector(w, r, &key, func(ctx context.Context, who control.By, name events.CollectorName) (control.Answer, error) {
		return s.Control.RotateKey(ctx, who, name, key.NKey, key.Reason)
	})
}

func (s *Server) removeCollector(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	return s.toCollector(w, r, s.Control.RemoveCollector)
}

func (s *Server) takeLaneOver(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	return s.toCollector(w, r, s.Control.TakeLaneOver)
}

// toCollector carries out a command with an optional reason on the collector that the path names.
func (s *Server) toCollector(w http.ResponseWriter, r *http.Request,
	command func(context.Context, control.By, events.CollectorName, string) (control.Answer, error),
) (any, error) {
	var why client.Reason
	return aboutCollector(w, r, &why, func(ctx context.Context, who control.By, name events.CollectorName) (control.Answer, error) {
		return command(ctx, who, name, why.Reason)
	})
}

// aboutCollector reads the body and the name of the collector, and carries out the command.
func aboutCollector(w http.ResponseWriter, r *http.Request, v any,
	command func(context.Context, control.By, events.CollectorName) (control.Answer, error),
) (any, error) {
	who, err := commanded(w, r, v)
	if err != nil {
		return nil, err
	}
	name := r.PathValue("name")
	if err := events.CheckToken("collector", name); err != nil {
		return nil, wrong(http.StatusBadRequest, "", "%s", err)
	}
	return command(r.Context(), who, events.CollectorName(name))
}

func (s *Server) wantVersion(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	var wanted events.VersionWanted
	who, err := commanded(w, r, &wanted)
	if err != nil {
		return nil, err
	}
	return s.Control.WantVersion(r.Context(), who, wanted)
}

func (s *Server) parkEvent(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	return toEvent(w, r, s.Control.Park)
}

func (s *Server) unparkEvent(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	return toEvent(w, r, s.Control.Unpark)
}

// toEvent carries out a command on the event that the path names.
func toEvent(w http.ResponseWriter, r *http.Request, command func(context.Context, control.By, events.Seq, string) (control.ParkAnswer, error)) (any, error) {
	var why client.Reason
	who, err := commanded(w, r, &why)
	if err != nil {
		return nil, err
	}
	seq, err := strconv.ParseUint(r.PathValue("seq"), 10, 63)
	if err != nil {
		return nil, wrong(http.StatusBadRequest, "`tacho events tail` shows the numbers", "%q is not the number of an event", r.PathValue("seq"))
	}
	return command(r.Context(), who, events.Seq(seq), why.Reason)
}

func (s *Server) publish(w http.ResponseWriter, r *http.Request, p *params) (any, error) {
	data, err := rawBody(w, r, maxDefinitions)
	if err != nil {
		return nil, err
	}
	d, err := suite.Parse(data)
	if err == nil {
		err = events.CheckToken("suite", string(d.Name))
	}
	if err != nil {
		return nil, wrong(http.StatusBadRequest, "send the canonical form, as `tacho suite show --json` prints it", "%s", err)
	}
	who, err := by(r)
	if err != nil {
		return nil, err
	}
	from := control.Origin{Branch: p.text("branch"), Aside: p.flag("aside")}
	if text := p.text("seal"); text != "" {
		given, err := seal.Parse(text)
		if err != nil {
			return nil, wrong(http.StatusBadRequest, "see docs/seals.md for how definitions are sealed", "seal: %s", err)
		}
		from.Seal = &given
	}
	switch {
	case p.err != nil:
		return nil, p.err
	case from.Aside && from.Branch != "":
		return nil, wrong(http.StatusBadRequest, "leave the branch out", "no branch uses definitions that are published aside")
	}
	answer, err := s.Control.PublishFrom(r.Context(), who, d, from)
	return client.DefinitionsAnswer{Answer: answer, Suite: d.Name, Digest: d.Digest(), Warnings: s.warnings(d)}, err
}

// warnings name the collectors that cannot execute definitions before they are updated.
func (s *Server) warnings(d suite.Definitions) []string {
	if s.CannotRead == nil {
		return nil
	}
	if old := s.CannotRead(d); len(old) > 0 {
		return []string{suite.TooNew(d, old)}
	}
	return nil
}

func (s *Server) verify(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	if err := body(w, r, &struct{}{}); err != nil {
		return nil, err
	}
	if s.Verify == nil {
		return nil, wrong(http.StatusNotImplemented, "run `tacho replay --verify` where the database is at hand", "this process cannot replay the log")
	}
	if !s.verifying.TryLock() {
		return nil, wrong(http.StatusConflict, "wait for it and ask again", "a verification is running")
	}
	defer s.verifying.Unlock()
	return s.Verify(r.Context())
}

func (s *Server) promote(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	var to client.Promotion
	who, err := commanded(w, r, &to)
	if err != nil {
		return nil, err
	}
	name := events.SuiteName(r.PathValue("suite"))
	answer, err := s.Control.Promote(r.Context(), who, name, to.Branch, to.Digest, to.Reason)
	out := client.PromotionAnswer{Answer: answer}
	if err != nil || to.Digest == "" {
		return out, err
	}
	// What cannot be read here was said when it was published.
	d, unread := s.Control.DefinitionsOf(r.Context(), name, "", to.Digest)
	if unread == nil {
		out.Warnings = s.warnings(d)
	}
	return out, nil
}
