package website

import (
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// pastShownFor is how long the status page shows a cleared alert.
const pastShownFor = 24 * time.Hour

// local returns the alerts that this process knows and that the tables may not show.
func (s *Server) local() []readmodel.Alert {
	if s.Alerts == nil {
		return nil
	}
	return s.Alerts()
}

// joined puts the local alerts ahead of those of the tables: they say whether the others can be trusted.
func (s *Server) joined(rows []readmodel.Alert) []readmodel.Alert {
	local := s.local()
	list := slices.Clone(local)
	for _, a := range rows {
		if !a.Standing() || !slices.ContainsFunc(local, func(l readmodel.Alert) bool { return l.Key == a.Key }) {
			list = append(list, a)
		}
	}
	if list == nil {
		return []readmodel.Alert{}
	}
	return list
}

func (s *Server) alerts(_ http.ResponseWriter, r *http.Request, p *params) (any, error) {
	past := p.small("past")
	if p.err == nil && past > 1000 {
		p.fail("past: at most 1000")
	}
	if p.err != nil {
		return nil, p.err
	}
	rows, err := s.Reader.Alerts(r.Context(), past)
	if err != nil {
		return nil, err
	}
	return s.joined(rows), nil
}

// lately returns the alerts that were cleared within pastShownFor.
func lately(past []readmodel.Alert, now time.Time) []readmodel.Alert {
	return slices.DeleteFunc(slices.Clone(past), func(a readmodel.Alert) bool {
		return a.ClearedAt == nil || now.Sub(*a.ClearedAt) > pastShownFor
	})
}

// signature returns a text that changes when the local alerts change.
func (s *Server) signature() string {
	var b strings.Builder
	for _, a := range s.local() {
		b.WriteString(string(a.Key) + "\x00" + a.Message + "\x00")
	}
	return b.String()
}

// prose returns a text as HTML, with the parts between backticks as code.
func prose(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(text, "`") {
		part = template.HTMLEscapeString(part)
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String())
}

// alertTitle returns the kind of an alert in one or two words.
func alertTitle(k events.AlertKind) string {
	switch k {
	case events.AlertStalled:
		return "nothing moves"
	case events.AlertUnserved:
		return "no collector"
	case events.AlertOffline:
		return "offline"
	case events.AlertQuarantine:
		return "quarantine"
	case events.AlertLag:
		return "tables late"
	case events.AlertUnreachable:
		return "log away"
	case events.AlertSource:
		return "source"
	case events.AlertUpdate:
		return "update"
	case events.AlertOverrun:
		return "overrun"
	case events.AlertRefused:
		return "refused"
	case events.AlertReport:
		return "report"
	case events.AlertLacking:
		return "requests wait"
	case events.AlertHook:
		return "hook"
	case events.AlertHostFull:
		return "memory"
	case events.AlertStuck:
		return "graph stuck"
	case events.AlertOutputs:
		return "outputs full"
	case events.AlertNewer:
		return "newer events"
	case events.AlertRoom:
		return "room"
	case events.AlertDamaged:
		return "log damaged"
	case events.AlertDatabase:
		return "database"
	case events.AlertTurn:
		return "turn of a machine"
	case events.AlertSeal:
		return "seals"
	case events.AlertOverdue:
		return "overdue"
	}
	return string(k)
}
