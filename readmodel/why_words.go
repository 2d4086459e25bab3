package readmodel

import (
	"fmt"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
)

// namedInWords bounds how many collectors or accounts a sentence names.
const namedInWords = 3

// words says a reason with its numbers.
func (r whyRows) words(w Why) string {
	if r.job.Held != "" {
		return w.heldWords()
	}
	if r.free() {
		if words := w.machineWords(); words != "" {
			return words
		}
	}
	lane := r.where()
	switch w.Reason {
	case WaitNoRoom, WaitAffinity: // only of jobs without a lane
	case WaitNeeds, WaitSkipped: // see heldWords
	case WaitNext:
		if r.job.Place > 0 {
			words := fmt.Sprintf("it is the next job that runs on %s: its collector has not begun it yet", lane)
			if r.job.Reason != "" {
				words += "; its last attempt was not the end of it: " + r.job.Reason
			}
			return words
		}
		return fmt.Sprintf("it is dispatched next on %s%s", lane, w.Running.words("; "))
	case WaitLane:
		return fmt.Sprintf("it is dispatched, and %s before it on %s%s", phrase.Are(w.Ahead, "job"), lane, w.Running.words("; "))
	case WaitNoMachine:
		return "no collector is registered for " + lane
	case WaitUnable:
		return fmt.Sprintf("the collector of %s does not know builds: %s", lane, unableWords(w.Machines))
	case WaitNoOnline:
		return fmt.Sprintf("no collector of %s takes jobs: %s", lane, machineWords(w.Machines))
	case WaitPaused:
		return fmt.Sprintf("queue %s is paused", w.Queue)
	case WaitLimit:
		return w.Limit.words()
	case WaitTier:
		return w.aheadWords("of more urgent tiers", lane) + w.roomWords("; ")
	case WaitShare:
		return fmt.Sprintf("no job of its account and queue is before it; %s%s", r.shareWords(w), w.roomWords("; "))
	case WaitOwn:
		if !r.shared {
			return fmt.Sprintf("%s before it for %s%s%s", phrase.Are(w.Ahead, "job"), lane, w.Running.words("; "), w.roomWords("; "))
		}
		text := w.aheadWords("of the same account and queue", lane)
		if len(w.Others) > 0 {
			text += "; " + r.shareWords(w)
		}
		return text + w.roomWords("; ")
	}
	return ""
}

// aheadWords counts the jobs that come before it.
func (w Why) aheadWords(which, lane string) string {
	return fmt.Sprintf("%s %s %s before it for %s", phrase.Count(w.Ahead, "job"), which, phrase.Verb(w.Ahead, "is", "are"), lane)
}

// shareWords says who else has work, and what its share is.
func (r whyRows) shareWords(w Why) string {
	var names []string
	for _, o := range w.Others {
		names = append(names, fmt.Sprintf("%s (%s)", o.words(), phrase.Count(o.Jobs, "job")))
	}
	also := "has"
	if len(w.Others) > 1 {
		also = "have"
	}
	return fmt.Sprintf("%s also %s work for %s, and its own share is %g %% by weight", someOf(names, w.OthersCount), also, r.where(), *w.SharePercent)
}

func (o WhyOther) words() string {
	switch {
	case o.Account == "":
		return "queue " + string(o.Queue)
	case string(o.Account) == string(o.Queue):
		return string(o.Account)
	}
	return fmt.Sprintf("%s in queue %s", o.Account, o.Queue)
}

func (l WhyLimit) words() string {
	of := fmt.Sprintf("account %s", l.Account)
	if l.Queue != "" {
		of = fmt.Sprintf("queue %s", l.Queue)
	}
	return fmt.Sprintf("%s has %d of %d places open", of, l.Open, l.Most)
}

// words says what runs, after a separator; "" if nothing runs.
func (r *WhyRunning) words(separator string) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%sjob %s has run since %s", separator, r.JobID, phrase.Moment(r.Since))
}

func machineWords(list []WhyMachine) string {
	words := make([]string, len(list))
	for i, m := range list {
		words[i] = fmt.Sprintf("%s has been %s since %s", m.Name, m.State, phrase.Moment(m.Since))
		if m.State == CollectorRegistered {
			words[i] = fmt.Sprintf("%s has been registered since %s and was never online", m.Name, phrase.Moment(m.Since))
		}
	}
	return someOf(words, len(words))
}

// someOf joins the first of a list, and counts the others. all is how many there are.
func someOf(list []string, all int) string {
	switch {
	case all > namedInWords:
		return strings.Join(list[:namedInWords], ", ") + fmt.Sprintf(" and %d more", all-namedInWords)
	case len(list) == 1:
		return list[0]
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// doesNotWait says what became of a job that does not wait.
func (r whyRows) doesNotWait() string {
	since := phrase.Moment(r.since())
	if r.job.State == events.JobInProgress {
		return fmt.Sprintf("it does not wait: it has run on %s since %s, attempt %d", r.job.Collector, since, r.job.Attempts)
	}
	text := fmt.Sprintf("it does not wait: it ended (%s) at %s", r.job.State, since)
	if r.job.Reason != "" {
		text += ": " + r.job.Reason
	}
	return text
}
