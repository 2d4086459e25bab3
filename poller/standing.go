package poller

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
)

// raiseAgain is how often a standing alert is raised again with the newest error. The words of an error may differ
// each time, and the log must not repeat them all.
const raiseAgain = time.Hour

// failed counts a failure. After too many in a row it raises the alert.
func (p *Poller) failed(ctx context.Context, err error) {
	if logAway(err) {
		return
	}
	p.failures++
	now := p.Clock()
	if p.failures < p.AlertAfter || !p.raised.IsZero() && now.Sub(p.raised) < raiseAgain {
		return
	}
	alert := events.AlertRaised{
		Kind: events.AlertSource, About: p.Name,
		Message: fmt.Sprintf("source %s cannot be polled: %s", p.Name, words(err)), Action: p.action(err),
	}
	if _, err := p.Control.RaiseAlert(ctx, p.by("poll:"+p.Name), alert); err != nil {
		p.Logger.Warn("the alert could not be raised, trying again", "error", err)
		return
	}
	p.raised = now
}

// works clears the alert, also one that another process raised.
func (p *Poller) works(ctx context.Context) {
	p.failures, p.raised = 0, time.Time{}
	_, err := p.Control.ClearAlert(ctx, p.by("poll:"+p.Name), events.NewAlertKey(events.AlertSource, p.Name), "it was polled without an error")
	if err != nil && ctx.Err() == nil {
		p.Logger.Warn("the alert could not be cleared, trying again", "error", err)
	}
}

// refused raises the alert about definitions that cannot be used, also in place of one about failures.
func (p *Poller) refused(ctx context.Context, why string) {
	p.failures, p.raised = 0, time.Time{}
	alert := events.AlertRaised{
		Kind: events.AlertSource, About: p.Name, Message: fmt.Sprintf("source %s: %s", p.Name, short(why)),
		Action: fmt.Sprintf("Correct the file and push it; until then the definitions that were published before stay in force. `tacho suite branches %s` shows all problems.", p.Suite),
	}
	_, err := p.Control.RaiseAlert(ctx, p.by("poll:"+p.Name), alert)
	if err != nil && ctx.Err() == nil {
		p.Logger.Warn("the alert could not be raised, trying again", "error", err)
	}
}

// action says what a person can do about a failure.
func (p *Poller) action(err error) string {
	var limited *LimitedError
	var refused *control.RefusedError
	switch {
	case errors.As(err, &limited):
		return "Poll less often, or set TACHO_GITHUB_TOKEN: the limit of requests is far higher with a token."
	case errors.As(err, &refused) && refused.Kind == control.NotFound:
		return fmt.Sprintf("Publish the definitions with `tacho suite publish`, or correct the suite of poller %s.", p.Name)
	}
	return fmt.Sprintf("Look at it with `tacho poller look %s`. Correct its [[poller]] if it is wrong; otherwise wait: Tacho keeps polling it.", p.Name)
}

// userInfo matches names and passwords in URLs.
var userInfo = regexp.MustCompile(`://[^/\s@]*@`)

// clean removes secrets from the text of another program, such as git.
func clean(text string) string { return userInfo.ReplaceAllString(text, "://xxxxx@") }

// words returns an error in a form for events: on one line, not too long and without secrets.
func words(err error) string { return short(clean(err.Error())) }

// short returns a text in a form for events: on one line and not too long.
func short(text string) string {
	const most = 400
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
