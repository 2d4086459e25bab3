package watchdog

import (
	"fmt"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
)

// database judges whether Postgres answers. The log can say that it does not.
func (j *judgement) database() {
	t := &j.view.tables
	switch {
	case !t.asked || !j.view.log.silent.IsZero():
		j.unsureKinds[events.AlertDatabase] = true
	case t.failed >= databaseTries && j.passed(t.failing, databaseAfter):
		j.want(0, events.AlertRaised{
			Kind:    events.AlertDatabase,
			Message: "Postgres does not answer since " + phrase.Moment(t.failing) + ". Pages and the API answer 503. The log still takes all events, and jobs continue.",
			Action:  "Look whether Postgres runs, whether its machine stands still and whether its disk is full, and start it again; or correct database.url (TACHO_DATABASE_URL). Then the tables catch up by themselves, and nothing is lost.",
		})
	case !t.failing.IsZero():
		j.unsureKinds[events.AlertDatabase] = true
	}
}

// lag judges whether the tables follow the log. If there is no way to ask the tables, there is no alert.
func (j *judgement) lag() {
	t := &j.view.tables
	raise := func(message, action string) {
		j.want(0, events.AlertRaised{Kind: events.AlertLag, Message: message, Action: action})
	}
	switch {
	case !t.asked || !j.view.log.silent.IsZero() || !t.failing.IsZero():
		j.unsureKinds[events.AlertLag] = true
	case j.passed(t.still, j.limits.LagFor):
		raise(fmt.Sprintf("The tables have been at event %d since %s, and the log has newer events: pages and the API show old data.", t.at, phrase.Moment(t.still)),
			"Check that a projector runs, and look at its output: it says why it stopped. `tacho replay` can always rebuild the tables.")
	case j.passed(t.far, farFor):
		raise(fmt.Sprintf("The tables have been more than %d events behind the log since %s: pages and the API show old data.", j.limits.LagEvents, phrase.Moment(t.far)),
			"If the projector was only away, they catch up by themselves. If this lasts, look at the disk and the load of Postgres.")
	case !t.still.IsZero() || !t.far.IsZero():
		j.unsureKinds[events.AlertLag] = true
	}
}

const unreachableAction = "Check that NATS runs, that it can be reached from here, and that its disk has room. Nothing that was recorded is lost, and collectors continue " +
	"the jobs that they have. Nothing new is taken until the log is back."

// unreachable returns the alert that the log is away, since when it is, and whether it is. Only this process can say so
// meanwhile: the log takes nothing.
func (v *view) unreachable(now time.Time) (events.AlertRaised, time.Time, bool) {
	since := v.log.failing()
	if since.IsZero() || now.Sub(since) < unreachableShown {
		return events.AlertRaised{}, since, false
	}
	message := "The log has not answered since " + phrase.Moment(since) + "."
	if v.log.alone {
		message = "The log takes no events since " + phrase.Moment(since) + ": the server of NATS that answers does not hear the majority of the others."
	}
	if v.log.silent.IsZero() {
		message = "The log has taken no events since " + phrase.Moment(since) + ": " + sentence(v.log.why)
	}
	return events.AlertRaised{
		Key: events.NewAlertKey(events.AlertUnreachable, ""), Kind: events.AlertUnreachable, Message: message, Action: unreachableAction,
	}, since, true
}

// recorded returns what is recorded about an outage when the log is back: the alert, and the reason of its clearing.
func (o outage) recorded() (events.AlertRaised, string) {
	return events.AlertRaised{
		Key: events.NewAlertKey(events.AlertUnreachable, ""), Kind: events.AlertUnreachable,
		Message: fmt.Sprintf("The log did not answer, or took no events, from %s to %s (%s).", phrase.Moment(o.from), phrase.Moment(o.to), phrase.Duration(o.to.Sub(o.from))),
		Action:  unreachableAction,
	}, "the log answers again since " + phrase.Moment(o.to)
}
