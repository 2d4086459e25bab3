package watchdog

import (
	"fmt"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
)

// lag: the tables do not follow the log. Without a way to ask the tables nothing is said of them.
func (j *judgement) lag() {
	t := &j.view.tables
	raise := func(message, action string) {
		j.want(0, events.AlertRaised{Kind: events.AlertLag, Message: message, Action: action})
	}
	switch {
	case !t.asked || !j.view.log.silent.IsZero():
		j.unsureKinds[events.AlertLag] = true
	case j.passed(t.failing, j.limits.LagFor):
		raise("The tables cannot be read since "+phrase.Moment(t.failing)+": Postgres does not answer. Pages and the API show nothing; the log takes everything, and jobs run on.",
			"Start Postgres again, or correct database.url (TACHO_DATABASE_URL). The tables then catch up by themselves.")
	case j.passed(t.still, j.limits.LagFor):
		raise(fmt.Sprintf("The tables have stood at event %d since %s while the log goes on: what pages and the API show is old.", t.at, phrase.Moment(t.still)),
			"Check that a projector runs, and its output: it says why it stopped. The tables can always be made anew with `tacho replay`.")
	case j.passed(t.far, farFor):
		raise(fmt.Sprintf("The tables are more than %d events behind the log since %s: what pages and the API show is old.", j.limits.LagEvents, phrase.Moment(t.far)),
			"They catch up by themselves if the projector only was away. If it lasts, look at the disk and the load of Postgres.")
	case !t.failing.IsZero() || !t.still.IsZero() || !t.far.IsZero():
		j.unsureKinds[events.AlertLag] = true
	}
}

const unreachableAction = "Check that NATS runs and that it is reached from here, and the room on its disk. Nothing that was recorded is lost, and collectors go on with " +
	"the jobs that they have; nothing new is taken until the log is back."

// unreachable is said while it lasts by this process alone: the log cannot be told.
func (v *view) unreachable(now time.Time) (events.AlertRaised, time.Time, bool) {
	since := v.log.failing()
	if since.IsZero() || now.Sub(since) < unreachableAfter {
		return events.AlertRaised{}, since, false
	}
	message := "The log does not answer since " + phrase.Moment(since) + "."
	if v.log.silent.IsZero() {
		message = "The log takes no events since " + phrase.Moment(since) + ": " + sentence(v.log.why)
	}
	return events.AlertRaised{
		Key: events.NewAlertKey(events.AlertUnreachable, ""), Kind: events.AlertUnreachable, Message: message, Action: unreachableAction,
	}, since, true
}

// recorded is what the log is told of an outage when it is back.
func (o outage) recorded() (events.AlertRaised, string) {
	return events.AlertRaised{
		Key: events.NewAlertKey(events.AlertUnreachable, ""), Kind: events.AlertUnreachable,
		Message: fmt.Sprintf("The log did not answer, or took no events, from %s to %s (%s).", phrase.Moment(o.from), phrase.Moment(o.to), phrase.Duration(o.to.Sub(o.from))),
		Action:  unreachableAction,
	}, "the log answers again since " + phrase.Moment(o.to)
}
