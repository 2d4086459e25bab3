package control

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/request"
	"github.com/tachobench/tacho/rules/suite"
)

// maxPatterns bounds the patterns of branches of an account, patternsNamed those that a refusal names.
const (
	maxPatterns   = 64
	patternsNamed = 10
)

// usualRights stands for the usual rights in a list of rights.
const usualRights events.Right = "usual"

// needs returns the rights that a command to a request needs.
func needs(command request.Command) []events.Right {
	switch c := command.(type) {
	case request.Create:
		if c.Pinned.Customised {
			return []events.Right{events.RightRequest, events.RightCustomise}
		}
		return []events.Right{events.RightRequest}
	case request.ArtifactsReady, request.BuildFailed:
		return []events.Right{events.RightRequest}
	case request.Cancel, request.CancelGraph:
		return []events.Right{events.RightCancel}
	case request.Prioritise:
		return []events.Right{events.RightPrioritise}
	case request.Want:
		return needsOfWish(c.GraphWanted)
	case request.Start, request.AddBackfill, request.FailExpansion, request.Hold, request.ExpireGraph, request.Grant, request.Force,
		request.Refuse, request.Complete, request.Expire, request.Supersede: // no account gives these
	}
	return []events.Right{events.RightNone}
}

func needsOfWish(w events.GraphWanted) (out []events.Right) {
	switch w.Kind {
	case events.GraphRerun, events.GraphRepair, events.GraphAdded:
		out = append(out, events.RightRerun)
	case events.GraphRetrigger, events.GraphNoise:
		out = append(out, events.RightRetrigger)
	case events.GraphForce:
		out = append(out, events.RightForce)
	case events.GraphExternal:
		out = append(out, events.RightCustomise)
	case events.GraphInitial, events.GraphBackfill: // no wish is for these
		return []events.Right{events.RightNone}
	default:
		return []events.Right{events.RightNone}
	}
	if w.Force && !slices.Contains(out, events.RightForce) {
		out = append(out, events.RightForce)
	}
	if w.Iterations != 0 && !slices.Contains(out, events.RightCustomise) {
		out = append(out, events.RightCustomise)
	}
	return out
}

// decideRights returns a refusal if an account lacks one of some rights.
func decideRights(a events.AccountConfigured, rights ...events.Right) error {
	held := events.HeldRights(a.May)
	var lacks []events.Right
	for _, r := range rights {
		if !slices.Contains(held, r) {
			lacks = append(lacks, r)
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	with := slices.Concat(held, lacks)
	return refuse(Forbidden, "account %s lacks the %s %s: ask the operator: `tacho account set %s --may %s`",
		a.Account, phrase.Verb(len(lacks), "right", "rights"), strings.Join(words(lacks), " and "), a.Account, strings.Join(words(inOrder(with)), ","))
}

// decideBranch returns a refusal if an account may not name a branch, or none, for what it asks for.
func decideBranch(a events.AccountConfigured, branch, what string) error {
	switch {
	case len(a.Branches) == 0:
		return nil
	case branch == "":
		return refuse(Forbidden, "account %s may %s only for branches that match %s: name the branch (`--branch`)", a.Account, what, patterns(a))
	case !slices.ContainsFunc(a.Branches, func(p string) bool { return suite.BranchMatches(p, branch) }):
		return refuse(Forbidden, "account %s may %s only for branches that match %s, and %s does not: name another branch, or ask the operator: `tacho account set %s%s`",
			a.Account, what, patterns(a), branch, a.Account, allowing(a, branch))
	}
	return nil
}

// allowing returns the flags that let an account name one branch more. A name that a shell could misread is left out.
func allowing(a events.AccountConfigured, branch string) (flags string) {
	if len(a.Branches) > patternsNamed || suite.CheckBranchPattern(branch) != nil {
		return " --branch …"
	}
	for _, p := range append(slices.Clone(a.Branches), branch) {
		flags += " --branch '" + p + "'"
	}
	return flags
}

// patterns returns the patterns of an account's branches in words.
func patterns(a events.AccountConfigured) string {
	if more := len(a.Branches) - patternsNamed; more > 0 {
		return fmt.Sprintf("%s or one of %d more (`tacho account show %s`)", strings.Join(a.Branches[:patternsNamed], ", "), more, a.Account)
	}
	return strings.Join(a.Branches, " or ")
}

// decideCaps returns a refusal if a priority that a command names is above what their account or the branch allows. It names
// the lower of both caps. Without an account, a is nil.
func decideCaps(a *events.AccountConfigured, branch string, t suite.Template, p events.Priority) error {
	if a == nil || t.MaxPriority != "" && t.MaxPriority.Level() > a.MaxPriority.Level() {
		return decideBranchPriority(branch, t, p)
	}
	return decidePriority(*a, p)
}

// boundBy reads the settings of the account whose rights bind a command; nil if none does. A closed account may nothing.
func boundBy(ctx context.Context, from reader, by By) (*events.AccountConfigured, error) {
	name := by.bound()
	if name == "" {
		return nil, nil
	}
	known, err := accountIn(ctx, from, name)
	switch {
	case err != nil:
		return nil, err
	case known.closed:
		return nil, refuse(Forbidden, "%s", closedAccount(name))
	}
	settings := known.settled(name)
	return &settings, nil
}

// allowed returns a command to a request as its giver may give it, or a refusal. It reads their account anew in each try of
// the decision, so that a decision that is taken again knows the newest settings.
func (c *Control) allowed(ctx context.Context, from reader, by By, id events.RequestID, q request.Request, command request.Command) (request.Command, error) {
	a, err := boundBy(ctx, from, by)
	if err == nil && a != nil {
		err = decideRights(*a, needs(command)...)
	}
	if err == nil {
		err = onWhich(by, id, q)
	}
	if err != nil {
		return command, err
	}
	// Others name no priority.
	//exhaustive:ignore
	switch it := command.(type) {
	case request.Prioritise:
		t, err := c.branchTemplate(ctx, q)
		if err == nil {
			err = decideCaps(a, q.Choice().Branch, t, it.To)
		}
		return it, err
	case request.Want:
		if !it.Kind.Sampled() {
			return it, nil
		}
		t, err := c.branchTemplate(ctx, q)
		switch {
		case it.Priority != "" && err != nil:
			return it, err
		case it.Priority != "":
			return it, decideCaps(a, q.Choice().Branch, t, it.Priority)
		case t.MaxPriority == events.PriorityIdle || a != nil && a.MaxPriority == events.PriorityIdle:
			it.Priority = events.PriorityIdle // samples without a priority would be low
		}
		return it, nil
	}
	return command, nil
}

// mayAsk returns a refusal if who asks for a request may not do so, for its branch or at all.
func (p *placing) mayAsk(ctx context.Context, n creation) error {
	var settings events.AccountConfigured
	if name := p.by.bound(); name != "" {
		known, err := p.account(ctx, name)
		if err != nil {
			return err
		}
		settings = known.settled(name)
		err = decideRights(settings, needs(n.Create)...)
		if err == nil {
			err = decideBranch(settings, n.named, "ask")
		}
		if err != nil {
			return err
		}
	}
	if n.needless && len(settings.Branches) == 0 {
		return refuse(Invalid, "suite %s has nothing of its own for branches: leave the branch out", n.Suite)
	}
	return nil
}

// mayDefine returns a refusal if who gives a command may not do something to the definitions of a branch.
func (c *Control) mayDefine(ctx context.Context, by By, right events.Right, branch string) error {
	a, err := boundBy(ctx, c.Log, by)
	if a == nil || err != nil {
		return err
	}
	if err := decideRights(*a, right); err != nil {
		return err
	}
	return decideBranch(*a, branch, string(right))
}

// NamesBranches reports whether an account may ask for some branches alone, and so has to name one.
func (c *Control) NamesBranches(ctx context.Context, name events.AccountName) (bool, error) {
	if name == "" {
		return false, nil
	}
	known, err := accountIn(ctx, c.Log, name)
	return len(known.settled(name).Branches) > 0, err
}

// setRights replaces the rights of an account. They are stored in one order, each once.
func setRights(field *[]events.Right, rights *[]events.Right) error {
	if rights == nil {
		return nil
	}
	valid := fmt.Sprintf("use some of %s, or one of %s and %s alone", strings.Join(words(events.Rights), ", "), events.RightNone, usualRights)
	for i, r := range *rights {
		switch alone := r == events.RightNone || r == usualRights; {
		case !alone && !slices.Contains(events.Rights, r):
			return refuse(Invalid, "unknown right %q: %s", r, valid)
		case alone && len(*rights) > 1:
			return refuse(Invalid, "right %q stands alone: %s", r, valid)
		case slices.Contains((*rights)[:i], r):
			return refuse(Invalid, "right %q is there twice: name each once", r)
		case r == usualRights:
			*field = nil
			return nil
		}
	}
	*field = nil
	if len(*rights) > 0 {
		*field = inOrder(*rights)
	}
	return nil
}

// inOrder returns rights in the order of events.Rights.
func inOrder(rights []events.Right) []events.Right {
	sorted := slices.Clone(rights)
	slices.SortFunc(sorted, func(a, b events.Right) int { return slices.Index(events.Rights, a) - slices.Index(events.Rights, b) })
	return sorted
}

// setBranches replaces the patterns of an account's branches.
func setBranches(field *[]string, branches *[]string) error {
	if branches == nil {
		return nil
	}
	if n := len(*branches); n > maxPatterns {
		return refuse(Invalid, "%d patterns of branches: use at most %d, or none, which means all branches", n, maxPatterns)
	}
	for i, p := range *branches {
		if err := suite.CheckBranchPattern(p); err != nil {
			return refuse(Invalid, "pattern %q of branches: %s", p, err)
		}
		if slices.Contains((*branches)[:i], p) {
			return refuse(Invalid, "pattern %q of branches is there twice: name each once", p)
		}
	}
	*field = nil
	if len(*branches) > 0 {
		*field = slices.Clone(*branches)
	}
	return nil
}

func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}
