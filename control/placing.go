package control

import (
	"context"
	"slices"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/rules/request"
)

// ReadTier returns the priority that a name of a queue stands for; false for a name of a queue. vip and idle are
// priorities: a request keeps its queue.
func ReadTier(name events.QueueName) (events.Priority, bool) {
	p := events.Priority(name)
	return p, p == events.PriorityVIP || p == events.PriorityIdle
}

// asked returns who asks, in which queue and how urgently, as the command has it. It reads nothing.
func asked(by By, n NewRequest) (NewRequest, error) {
	if by.Account != "" {
		if n.Account != "" && n.Account != by.Account {
			return n, refuse(Forbidden, "account %s cannot ask for account %s: leave the account out", by.Account, n.Account)
		}
		n.Account = by.Account
	}
	if n.Account != "" {
		if err := events.CheckAccount(n.Account); err != nil {
			return n, refuse(Invalid, "%s", err)
		}
	}
	if _, err := events.ParsePriority(string(n.Priority)); err != nil {
		return n, refuse(Invalid, "%s", err)
	}
	if p, ok := ReadTier(n.Queue); ok {
		if n.Priority != "" && n.Priority != p {
			return n, refuse(Invalid, "queue %s is read as priority %s, and the priority is %s: leave one of them out", n.Queue, p, n.Priority)
		}
		n.Priority, n.Queue = p, ""
	}
	if n.Queue != "" && n.Queue != events.MainQueue {
		if err := events.CheckQueue(n.Queue); err != nil {
			return n, refuse(Invalid, "%s", err)
		}
	}
	return n, nil
}

// placing finds the queues of new requests, and counts them. It reads each account, each queue, and how many requests they
// have, once. It is for one try of a decision, or for a few requests that are made at the same moment.
type placing struct {
	control  *Control
	from     reader
	by       By
	accounts map[events.AccountName]account
	queues   map[events.QueueName]queue
	// ofAccount and inQueue count the requests placed so far.
	ofAccount map[events.AccountName]int
	inQueue   map[events.QueueName]int
	// required are the new requirements so far.
	required map[string]bool
	// pendingOf and pendingIn count the requests of accounts and queues that have not ended, once they were counted.
	pendingOf map[events.AccountName]int
	pendingIn map[events.QueueName]int
	// offers are those of the machines, once they were read.
	offers *[]match.Offer
}

func (c *Control) placing(from reader, by By) *placing {
	return &placing{
		control: c, from: from, by: by, accounts: map[events.AccountName]account{}, queues: map[events.QueueName]queue{},
		ofAccount: map[events.AccountName]int{}, inQueue: map[events.QueueName]int{}, required: map[string]bool{},
		pendingOf: map[events.AccountName]int{}, pendingIn: map[events.QueueName]int{},
	}
}

// places says whether who asks may ask, and where a request waits that does not exist yet.
type places interface {
	mayAsk(ctx context.Context, n creation) error
	place(ctx context.Context, n creation) (request.Create, error)
}

// placed is what a placing said about one request.
type placed struct {
	may    error
	create request.Create
	err    error
}

func (p *placing) decide(ctx context.Context, n creation) (out placed) {
	if out.may = p.mayAsk(ctx, n); out.may == nil {
		out.create, out.err = p.place(ctx, n)
	}
	return out
}

func (p placed) mayAsk(context.Context, creation) error { return p.may }

func (p placed) place(context.Context, creation) (request.Create, error) { return p.create, p.err }

// place returns the command for a request that does not exist yet, with its queue, or a refusal. The queue is the one
// that the command names, else the account's own, else the main one.
func (p *placing) place(ctx context.Context, n creation) (request.Create, error) {
	var asks account
	create := n.Create
	usual := create.Priority == ""
	if usual {
		create.Priority = n.caps.Usual()
	}
	var most *events.AccountConfigured
	if create.Account != "" {
		var err error
		if asks, err = p.account(ctx, create.Account); err != nil {
			return create, err
		}
		settings := asks.settled(create.Account)
		most = &settings
	}
	switch {
	case !usual:
		err := decideCaps(most, create.Choice.Branch, n.caps, create.Priority)
		if err != nil {
			return create, err
		}
	case most != nil && create.Priority.Level() < most.MaxPriority.Level():
		create.Priority = most.MaxPriority
	}
	own := events.QueueName(create.Account)
	var in queue
	switch create.Queue {
	case "", own:
		create.Queue = own
	case events.MainQueue:
	default:
		var err error
		if in, err = p.queue(ctx, create.Queue); err != nil {
			return create, err
		}
		if err := decideMember(in.settings, create.Account); err != nil {
			return create, err
		}
	}
	if err := p.possible(ctx, in.settings, n); err != nil {
		return create, err
	}
	return create, p.pending(ctx, asks, in, create)
}

// account reads an account and returns a refusal if it cannot ask for requests.
func (p *placing) account(ctx context.Context, name events.AccountName) (account, error) {
	if known, read := p.accounts[name]; read {
		return known, nil
	}
	known, err := accountIn(ctx, p.from, name)
	switch {
	case err != nil:
		return known, err
	case known.closed:
		return known, closedAccount(name)
	case !known.configured && p.by.Account != name:
		return known, refuse(Invalid, "%s", unknownAccount(name))
	case !known.configured:
		_, taken, err := p.from.Last(ctx, events.QueueSubject(events.QueueName(name)))
		if err != nil {
			return known, err
		}
		if taken {
			return known, refuse(Conflict, "account %s cannot have a queue of its own, because there is or was another queue %s: use another name", name, name)
		}
	}
	p.accounts[name] = known
	return known, nil
}

// queue reads a configured queue and returns a refusal if it takes no requests.
func (p *placing) queue(ctx context.Context, name events.QueueName) (queue, error) {
	if known, read := p.queues[name]; read {
		return known, nil
	}
	known, err := stateIn(ctx, p.from, events.QueueSubject(name), evolveQueue)
	switch {
	case err != nil:
		return known, err
	case known.closed:
		return known, closedQueue(name)
	case !known.configured:
		return known, p.unknown(ctx, name)
	}
	p.queues[name] = known
	return known, nil
}

// unknown returns the refusal for a queue that was never configured.
func (p *placing) unknown(ctx context.Context, name events.QueueName) error {
	_, own, err := p.from.Last(ctx, events.AccountSubject(events.AccountName(name)))
	switch {
	case err != nil:
		return err
	case own:
		return refuse(Forbidden, "queue %s is the own queue of account %s, and only that account's requests wait there", name, name)
	}
	known := tree{}
	if p.control.Queues != nil {
		// The refusal is right without the list.
		list, _ := p.control.Queues(ctx, 0)
		for _, q := range list {
			known[q.Queue] = q
		}
	}
	return unknownQueue("queue", name, append([]events.QueueName{events.MainQueue}, names(known)...))
}

// pending counts the request, and returns a refusal if its account or its queue has too many that have not ended.
func (p *placing) pending(ctx context.Context, asks account, in queue, create request.Create) error {
	if most := p.control.MaxPending; most > 0 && p.control.PendingAll != nil {
		n, err := p.control.PendingAll(ctx)
		if err != nil {
			return err
		}
		if n >= most {
			return refuse(TooMany, "%s %s not ended, and the farm takes no more than %d (twice scheduler.max_waiting): wait until some have ended, or cancel some",
				phrase.Count(n, "request"), has(n), most)
		}
	}
	p.ofAccount[create.Account]++
	p.inQueue[create.Queue]++
	if limit := asks.settings.MaxPending; limit > 0 && p.control.PendingOf != nil {
		n, err := countOnce(ctx, p.pendingOf, create.Account, p.control.PendingOf)
		if err != nil {
			return err
		}
		if err := decidePending("account", string(create.Account), n, p.ofAccount[create.Account], limit); err != nil {
			return err
		}
	}
	if limit := in.settings.MaxPending; limit > 0 && p.control.PendingIn != nil {
		n, err := countOnce(ctx, p.pendingIn, create.Queue, p.control.PendingIn)
		if err != nil {
			return err
		}
		return decidePending("queue", string(create.Queue), n, p.inQueue[create.Queue], limit)
	}
	return nil
}

// countOnce returns a count that was taken already, or takes it.
func countOnce[K comparable](ctx context.Context, known map[K]int, key K, count func(context.Context, K) (int, error)) (int, error) {
	if n, taken := known[key]; taken {
		return n, nil
	}
	n, err := count(ctx, key)
	if err == nil {
		known[key] = n
	}
	return n, err
}

// decidePending returns a refusal if more requests would be over a limit.
func decidePending(what, name string, pending, more, limit int) error {
	if pending+more <= limit {
		return nil
	}
	return refuse(TooMany, "%s %s has %s that %s not ended, and may have %d (max_pending); this would make it %d: wait until some have ended, or cancel some",
		what, name, phrase.Count(pending, "request"), has(pending), limit, pending+more)
}

// decidePriority returns a refusal if a priority is above what an account may give.
func decidePriority(a events.AccountConfigured, p events.Priority) error {
	if p.Level() >= a.MaxPriority.Level() {
		return nil
	}
	return refuse(Forbidden, "priority %s is above what account %s may give, which is %s (max_priority)", p, a.Account, a.MaxPriority)
}

// decideMember returns a refusal if an account may not use a queue.
func decideMember(q events.QueueConfigured, name events.AccountName) error {
	if len(q.Members) == 0 || slices.Contains(q.Members, name) {
		return nil
	}
	if name == "" {
		return refuse(Forbidden, "queue %s is for its members alone: name the account that asks (`--account`)", q.Queue)
	}
	return refuse(Forbidden, "account %s is no member of queue %s", name, q.Queue)
}

// mayChange returns a refusal if a command is about a request of another account. The operator may change all.
func mayChange(by By, q request.Request) error {
	switch {
	case by.Account == "" || q.Account == by.Account:
		return nil
	case q.Account == "":
		return refuse(Forbidden, "request %s is not of account %s: ask the operator", q.ID, by.Account)
	}
	return refuse(Forbidden, "request %s is of account %s and not of %s: ask that account, or the operator", q.ID, q.Account, by.Account)
}

// PrioritiseRequest gives a request another priority. An account gives its own requests at most its max_priority. also is
// recorded with it.
func (c *Control) PrioritiseRequest(ctx context.Context, by By, id events.RequestID, to events.Priority, reason string, also ...eventlog.Append) (request.Request, Answer, error) {
	return c.prioritise(ctx, by, id, request.Prioritise{To: to, Reason: reason}, also)
}

// PrioritiseGraph gives an open graph of samples another priority, also of a request that has ended. An account gives its own
// requests at most its max_priority.
func (c *Control) PrioritiseGraph(ctx context.Context, by By, id events.RequestID, graph int, to events.Priority, reason string) (request.Request, Answer, error) {
	return c.prioritise(ctx, by, id, request.Prioritise{Graph: &graph, To: to, Reason: reason}, nil)
}

func (c *Control) prioritise(ctx context.Context, by By, id events.RequestID, to request.Prioritise, also []eventlog.Append) (request.Request, Answer, error) {
	if _, err := events.ParsePriority(string(to.To)); err != nil {
		return request.Request{}, Answer{}, refuse(Invalid, "%s", err)
	}
	if err := shortReason(to.Reason); err != nil {
		return request.Request{}, Answer{}, err
	}
	return c.onRequest(ctx, by, id, nil, to, also)
}
