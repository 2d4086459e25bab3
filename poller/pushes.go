package poller

import (
	"context"
	"strings"

	"github.com/tachobench/tacho/events"
)

// Branch is a branch that a poller polls. An empty Repository or Name stands for every one.
type Branch struct {
	Repository events.RepoName
	Name       string
	// Look has the poller poll now. It returns at once.
	Look func()
}

// Facts is the ledger of this process, for its news.
type Facts interface {
	// Wait returns once everything up to seq is in it and it has caught up with the log, or with the error of ctx.
	Wait(ctx context.Context, seq events.Seq) error
	// Tell gives take each fact from now on; take does not wait for anything.
	Tell(take func(events.Fact))
}

// Pushes has the pollers of a branch poll at once when GitHub says that somebody pushed to it.
type Pushes struct {
	Facts    Facts
	Branches []Branch
}

// Run tells the pollers until ctx ends. Pushes that the ledger reads before it has caught up with the log are old: they
// are left out.
func (p Pushes) Run(ctx context.Context) error {
	if len(p.Branches) > 0 && p.Facts.Wait(ctx, 0) == nil {
		p.Facts.Tell(p.take)
	}
	return nil
}

// take tells the pollers of a branch that a fact says was pushed to.
func (p Pushes) take(f events.Fact) {
	handled, ok := f.(events.DeliveryHandled)
	name, push := strings.CutPrefix(handled.Command, events.PushWord)
	if !ok || !push {
		return
	}
	for _, b := range p.Branches {
		if (b.Repository == "" || b.Repository == handled.Repo) && (b.Name == "" || b.Name == name) {
			b.Look()
		}
	}
}
