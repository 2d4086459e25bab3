package scheduler

import (
	"context"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
)

var (
	modelAccounts = []events.AccountName{"", "ann", "bob", "cem"}
	modelQueues   = []events.QueueName{"", "night", "bisect", "builds"}
)

func (w *world) account() events.AccountName { return modelAccounts[w.r.IntN(len(modelAccounts))] }

func (w *world) queue() events.QueueName { return modelQueues[w.r.IntN(len(modelQueues))] }

// divide makes the accounts and queues.
func (w *world) divide() {
	vip, order := events.PriorityVIP, events.OrderFIFO
	for _, name := range modelAccounts[1:] {
		w.must(w.people.ConfigureAccount(context.Background(), modeller, name, control.AccountChange{MaxPriority: &vip}))
	}
	for _, name := range modelQueues[1:] {
		w.must(w.people.ConfigureQueue(context.Background(), modeller, name, control.QueueChange{Order: &order}))
	}
}

// share draws a command about how the farm is shared. Some are refused.
func (w *world) share() func() {
	ctx := context.Background()
	weight, few, one := control.Weight(1+w.r.IntN(100)), w.r.IntN(3), 1+w.r.IntN(3)
	switch w.r.IntN(8) {
	case 0, 1, 2:
		name, vip := w.account(), events.PriorityVIP
		return func() {
			_, _ = w.people.ConfigureAccount(ctx, modeller, name, control.AccountChange{
				Weight: &weight, MaxPriority: &vip, MaxRunning: &few, MaxQueued: &few, MaxVIP: &one,
			})
		}
	case 3, 4:
		name, parent, order := w.queue(), w.queue(), events.OrderFIFO
		if w.odds(3) {
			order = events.OrderLevels
		}
		return func() {
			_, _ = w.people.ConfigureQueue(ctx, modeller, name, control.QueueChange{
				Weight: &weight, Parent: &parent, Order: &order, InProgress: &few, MaxRunning: &few,
			})
		}
	case 5:
		name, paused := w.queue(), w.odds(2)
		return func() { _, _ = w.people.PauseQueue(ctx, modeller, name, paused) }
	case 6:
		floor, lag := w.r.IntN(500), int64(1+w.r.IntN(10_000_000))
		return func() {
			_, _ = w.people.SetSharePolicy(ctx, modeller, control.PolicyChange{FloorIdle: &floor, LagMS: &lag})
		}
	default:
		to := events.Priorities[w.r.IntN(len(events.Priorities))]
		return w.onSome(func(id events.RequestID) { _, _, _ = w.people.PrioritiseRequest(ctx, modeller, id, to, "") })
	}
}
