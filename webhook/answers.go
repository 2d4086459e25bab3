package webhook

import (
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/webhook/command"
)

func expiry(r Rules) string {
	return fmt.Sprintf("No try build came in time, so I have stopped waiting. Write `@%s queue` again before the next one, or `@%s build <commit>` after it.", r.Bot, r.Bot)
}

// sentence makes a sentence of a reason: a capital first, a full stop last.
func sentence(reason string) string {
	runes := []rune(strings.TrimSpace(reason))
	if len(runes) == 0 {
		return ""
	}
	runes[0] = unicode.ToUpper(runes[0])
	if last := runes[len(runes)-1]; !strings.ContainsRune(".!?", last) {
		runes = append(runes, '.')
	}
	return string(runes)
}

func page(r Rules, text, path string) string {
	if r.Site == "" {
		return text
	}
	return fmt.Sprintf("[%s](%s%s)", text, strings.TrimSuffix(r.Site, "/"), path)
}

func requestPage(r Rules, id events.RequestID) string {
	return page(r, "request `"+string(id)+"`", "/requests/"+string(id))
}

func comparison(r Rules, a, b events.Tag) string {
	return page(r, "comparison", "/compare?"+url.Values{"a": {string(a)}, "b": {string(b)}}.Encode())
}

func forbidden(name string, r Rules) string {
	who := "you"
	if name != "" {
		who = "@" + name
	}
	return fmt.Sprintf("Sorry, %s, only people with a role in %s may give me commands. Ask one of its members to write yours.", who, r.Repo)
}

func awaiting(id events.RequestID, r Rules) string {
	return fmt.Sprintf("Awaiting the try build. I benchmark it as soon as it has finished: %s.", requestPage(r, id))
}

func buildFailed(id events.RequestID, said build, r Rules) string {
	reason := sentence(said.reason)
	if u, err := url.Parse(said.url); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" {
		reason = fmt.Sprintf("%s See [its log](%s).", reason, u.String())
	}
	return fmt.Sprintf("%s I keep waiting for another try build until someone writes `@%s cancel`: %s.", reason, r.Bot, requestPage(r, id))
}

func announcement(q request.Request, place Place, known bool, r Rules, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Queued `%s`", q.Artifact.Tag)
	if q.Parent != "" {
		fmt.Fprintf(&b, " with parent `%s`; this will be its %s", q.Parent, comparison(r, q.Parent, q.Artifact.Tag))
	}
	b.WriteString(".\n")
	if known {
		b.WriteString("\n" + whereabouts(place, now) + "\n")
	}
	fmt.Fprintf(&b, "\nSee %s.", requestPage(r, q.ID))
	return b.String()
}

// whereabouts says where a request is in the queue and when it should be done.
func whereabouts(p Place, now time.Time) string {
	var b strings.Builder
	switch p.Ahead {
	case 0:
		b.WriteString("It is the next one")
	case 1:
		b.WriteString("One request is ahead of it")
	default:
		fmt.Fprintf(&b, "%d requests are ahead of it", p.Ahead)
	}
	if p.End != nil {
		fmt.Fprintf(&b, ", and it should be done in about %s, at %s UTC", about(p.End.Sub(now)), p.End.UTC().Format("15:04 on 2 January"))
	}
	b.WriteString(".")
	return b.String()
}

// about words a duration as people do.
func about(d time.Duration) string {
	switch {
	case d < 90*time.Second:
		return "a minute"
	case d < 90*time.Minute:
		return fmt.Sprintf("%d minutes", int(d.Round(time.Minute).Minutes()))
	case d < 36*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Round(time.Hour).Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Round(24*time.Hour).Hours()/24))
}

func triaged(wishes []control.NewRequest, ids []events.RequestID, r Rules) string {
	var b strings.Builder
	b.WriteString("I benchmark these builds, and report on the pull requests that they unroll:\n\n| PR | commit | comparison | request |\n|---|---|---|---|\n")
	for i, n := range wishes {
		fmt.Fprintf(&b, "| #%d | `%s` | %s | %s |\n", n.PR, n.Tag, comparison(r, n.Parent, n.Tag), requestPage(r, ids[i]))
	}
	return b.String()
}

func cancelledText(list []asked) string {
	if len(list) == 0 {
		return "There is nothing to cancel: no try of this pull request waits or runs."
	}
	names := make([]string, 0, len(list))
	for _, r := range list {
		names = append(names, "`"+string(r.ID)+"`")
	}
	return fmt.Sprintf("Cancelled %s. What was measured so far is kept.", strings.Join(names, ", "))
}

func statusText(list []asked, places map[events.RequestID]Place, r Rules, now time.Time) string {
	if len(list) == 0 {
		return fmt.Sprintf("Nothing of this pull request waits or runs. Write `@%s queue` before a try build, or `@%s build <commit>` after one.", r.Bot, r.Bot)
	}
	var b strings.Builder
	for _, q := range list {
		what := "a try build that has not finished"
		if q.Artifact.Tag != "" {
			what = "`" + string(q.Artifact.Tag) + "`"
		}
		fmt.Fprintf(&b, "- %s %s, %s, is %s.", q.Kind, requestPage(r, q.ID), what, strings.ReplaceAll(string(q.State), "_", " "))
		if p, ok := places[q.ID]; ok && q.State == events.StateArtifactsReady {
			b.WriteString(" " + whereabouts(p, now))
		} else if ok && q.State == events.StateInProgress && p.End != nil {
			fmt.Fprintf(&b, " It should be done in about %s.", about(p.End.Sub(now)))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func help(r Rules, g command.Grammar) string {
	name := "@" + r.Bot
	lines := []string{
		"I benchmark builds and report how they compare with what they were built on. Write one of these in a new comment:",
		"",
		"- `" + name + " queue` benchmarks the try build that follows;",
		"- `" + name + " build <commit>` benchmarks a build that exists;",
		"- `" + name + " triage <commit>…` benchmarks the unrolled builds of a rollup, and reports on their own pull requests;",
		"- `" + name + " retry` runs again what did not succeed in the newest request of this pull request, all of it or only some: `" + name + " retry kind=compile state=failure` " +
			"(also `target=`, `set=`, `backend=` and `profile=`);",
		"- `" + name + " noise 5` measures its parent 5 times more, to see how much results differ by chance; `benchmarks=regex*` narrows it;",
		"- `" + name + " priority high` gives it another priority: `vip`, `high`, `normal`, `low` or `idle`;",
		"- `" + name + " status` tells where the requests of this pull request are; `" + name + " cancel` withdraws them.",
		"",
		"`queue` and `build` take `targets=`, `backends=`, `profiles=` and `benchmarks=`, with commas between values and no spaces: `" +
			name + " queue profiles=check,opt benchmarks=regex*`.",
	}
	var offers []string
	if len(g.Graphs) > 0 {
		offers = append(offers, "`graph=` ("+strings.Join(g.Graphs, ", ")+")")
	}
	for _, o := range g.Options {
		offers = append(offers, "`"+o.Name+"=` ("+strings.Join(o.Values, ", ")+")")
	}
	if len(offers) > 0 {
		lines = append(lines, "", "They also take one value of "+strings.Join(offers, ", ")+".")
	}
	return strings.Join(lines, "\n")
}
