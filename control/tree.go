package control

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
)

// maxQueues bounds the queues of a farm, maxDepth how many of them are part of one another.
const (
	maxQueues = 1024
	maxDepth  = 4
)

// tree are the queues that are not closed, by name.
type tree map[events.QueueName]events.QueueConfigured

// above returns the queues that a queue is a part of, the nearest first. A cycle ends the list.
func (t tree) above(name events.QueueName) (out []events.QueueName) {
	for at := t[name].Parent; at != "" && !slices.Contains(out, at); at = t[at].Parent {
		out = append(out, at)
	}
	return out
}

// parts returns the queues that are parts of a queue, by name.
func (t tree) parts(name events.QueueName) (out []events.QueueName) {
	for _, q := range t {
		if q.Parent == name {
			out = append(out, q.Queue)
		}
	}
	slices.Sort(out)
	return out
}

// height returns how many levels of queues are below a queue. levels bounds the search.
func (t tree) height(name events.QueueName, levels int) int {
	height := 0
	if levels == 0 {
		return height
	}
	for _, part := range t.parts(name) {
		height = max(height, 1+t.height(part, levels-1))
	}
	return height
}

// decideShape returns a refusal if a queue with these settings cannot be in the tree.
func decideShape(t tree, next events.QueueConfigured) error {
	name, parent := next.Queue, next.Parent
	if _, there := t[name]; !there && len(t) >= maxQueues {
		return refuse(Full, "there are %d queues, and a farm has at most %d: close one with `tacho queue close`", len(t), maxQueues)
	}
	if parent == "" {
		return nil
	}
	if _, there := t[parent]; !there {
		return unknownQueue("parent", parent, names(t))
	}
	chain := append([]events.QueueName{parent}, t.above(parent)...)
	if parent == name || slices.Contains(chain, name) {
		return refuse(Conflict, "queue %s cannot be a part of %s: %s is a part of %s", name, parent, parent, name)
	}
	if depth := len(chain) + 1 + t.height(name, maxDepth); depth > maxDepth {
		return refuse(Conflict, "with queue %s as a part of %s the queues are %d deep: at most %d", name, strings.Join(texts(chain), " of "), depth, maxDepth)
	}
	return nil
}

// names returns the names of the queues of a tree besides the main one, sorted.
func names(t tree) []events.QueueName {
	var out []events.QueueName
	for name := range t {
		if name != events.MainQueue {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}

// maxListed bounds how many names a refusal lists.
const maxListed = 20

func unknownQueue(what string, name events.QueueName, known []events.QueueName) error {
	list := strings.Join(texts(known[:min(len(known), maxListed)]), ", ")
	if len(known) > maxListed {
		list += fmt.Sprintf(" and %d more", len(known)-maxListed)
	}
	if list != "" {
		list = "use one of " + list + ", or "
	}
	return refuse(Invalid, "unknown %s %q: %smake it with `tacho queue set %s`", what, name, list, name)
}

// treeIn returns the queues that there are: all that the tables know, and those above the given queue as the log has
// them. The caller has read the subject of the policy, which orders all changes of the tree; so the tables are asked for
// what they held then, and nothing can change before the append.
func (c *Control) treeIn(ctx context.Context, tx *eventlog.Tx, from events.QueueConfigured) (tree, error) {
	t := tree{}
	if c.Queues != nil {
		list, err := c.Queues(ctx, tx.Version(events.ShareSubject()))
		if err != nil {
			return nil, err
		}
		for _, q := range list {
			t[q.Queue] = q
		}
	}
	seen := map[events.QueueName]bool{from.Queue: true}
	for at := from.Parent; at != "" && !seen[at]; {
		seen[at] = true
		q, err := eventlog.StateOf(ctx, tx, events.QueueSubject(at), evolveQueue)
		if err != nil {
			return nil, err
		}
		delete(t, at)
		if q.configured && !q.closed {
			t[at] = q.settings
		}
		at = t[at].Parent
	}
	return t, nil
}

// decideClose returns a refusal if a queue cannot be closed. pending counts its requests that have not ended.
func decideClose(t tree, name events.QueueName, pending int) error {
	if parts := t.parts(name); len(parts) > 0 {
		return refuse(Conflict, "queue %s has parts: close or move %s first", name, strings.Join(texts(parts), ", "))
	}
	if pending > 0 {
		return refuse(Conflict, "queue %s has %s that %s not ended: wait for them, or cancel them", name, phrase.Count(pending, "request"), has(pending))
	}
	return nil
}

func has(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}
