package website

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

// answerEvery is how often the log is asked whether a scheduler has answered; answerTimeout, for how long.
const (
	answerEvery   = 50 * time.Millisecond
	answerTimeout = 5 * time.Second
)

// repairRequest records the wish for the next rounds of jobs, and waits a moment for the scheduler's answer.
func (s *Server) repairRequest(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	var repair control.Repair
	who, err := commanded(w, r, &repair)
	if err != nil {
		return nil, err
	}
	id, err := s.requestToChange(r)
	if err != nil {
		return nil, err
	}
	if err := s.jobsNamed(r, repair.Jobs); err != nil {
		return nil, err
	}
	if repair.Key == "" {
		repair.Key = uuid.NewString()
	}
	wished, answer, err := s.Control.RepairRequest(r.Context(), who, id, repair)
	if err != nil {
		return nil, err
	}
	out := client.RepairAnswer{RequestAnswer: requestAnswer(wished, answer), Key: repair.Key, Jobs: []events.JobID{}}
	giveUp, again := time.NewTimer(answerTimeout), time.NewTicker(answerEvery)
	defer giveUp.Stop()
	defer again.Stop()
	for {
		jobs, refused, answered, err := s.Control.RepairAnswer(r.Context(), id, repair.Key)
		switch {
		case err != nil:
			return nil, err
		case refused != "":
			return nil, wrong(http.StatusConflict, "see `tacho request show "+string(id)+"`", "%s", refused)
		case answered:
			out.Jobs, out.Answered = jobs, true
			return out, nil
		}
		select {
		case <-again.C:
		case <-giveUp.C:
			return out, nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// jobsNamed replaces the names of jobs by their full ids.
func (s *Server) jobsNamed(r *http.Request, names []events.JobID) error {
	if len(names) == 0 {
		return nil
	}
	if err := s.caughtUp(r.Context()); err != nil {
		return err
	}
	for i, name := range names {
		j, err := s.Reader.FindJob(r.Context(), string(name))
		if err != nil {
			return err
		}
		names[i] = j.ID
	}
	return nil
}
