package control

import (
	"context"
	"fmt"
	"strings"

	"github.com/nats-io/nkeys"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
)

// MaxSlots bounds the slots of a machine.
const MaxSlots = 64

// NewMachine is a machine of a pool to register, with the collectors of its slots.
type NewMachine struct {
	Name events.MachineName `json:"name"`
	Pool events.PoolName    `json:"pool"`
	// OS and Arch are those of its host, as Go names them.
	OS   string `json:"os"`
	Arch string `json:"arch"`
	// Slots is how many jobs it runs at once; 0 means 1.
	Slots int `json:"slots,omitempty"`
	MachineChange
	// NKeys are the public keys that its collectors prove themselves with, one for each slot.
	NKeys []string `json:"nkeys,omitempty"`
}

// MachineAnswer is the result of registering a machine.
type MachineAnswer struct {
	Answer
	// Collectors are those of its slots.
	Collectors []SlotCollector `json:"collectors"`
}

// SlotCollector is the collector of one slot of a machine.
type SlotCollector struct {
	Name events.CollectorName `json:"name"`
	Lane events.Lane          `json:"lane"`
}

// machine is the state of one machine.
type machine struct {
	// described is nil until it is registered.
	described *events.MachineDescribed
	removed   bool
}

// evolveMachine returns the state after e happened. The zero value is a machine of which nothing was recorded.
func evolveMachine(m machine, e events.Recorded) machine {
	// Only the facts of a machine concern it.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.MachineDescribed:
		m.described = &f
	case events.MachineRemoved:
		m.removed = true
	}
	return m
}

// known returns a refusal if the machine was never registered, or is removed.
func (m machine) known(name events.MachineName) error {
	switch {
	case m.removed:
		return refuse(Conflict, "machine %s was removed, and names are unique for ever: register it under another name with `tacho machine add`", name)
	case m.described == nil:
		return refuse(NotFound, "there is no machine %s: see `tacho machine list`", name)
	}
	return nil
}

// SlotNames returns the names of the collectors of a machine: its own name for a machine with one slot, else NAME-1,
// NAME-2 and so on.
func SlotNames(name events.MachineName, slots int) []events.CollectorName {
	if slots == 1 {
		return []events.CollectorName{events.CollectorName(name)}
	}
	out := make([]events.CollectorName, slots)
	for i := range out {
		out[i] = events.CollectorName(fmt.Sprintf("%s-%d", name, i+1))
	}
	return out
}

// described returns what the command says of the machine, or a refusal.
func (n NewMachine) described() (events.MachineDescribed, error) {
	if n.Slots == 0 {
		n.Slots = 1
	}
	f := events.MachineDescribed{Machine: n.Name, Pool: n.Pool, OS: n.OS, Arch: n.Arch, Slots: n.Slots}
	for _, err := range []error{events.CheckMachine(n.Name), events.CheckPool(n.Pool), events.CheckToken("os", n.OS), events.CheckToken("arch", n.Arch)} {
		if err != nil {
			return f, refuse(Invalid, "%s", err)
		}
	}
	if n.Slots < 1 || n.Slots > MaxSlots {
		return f, refuse(Invalid, "slots %d: use a number from 1 to %d", n.Slots, MaxSlots)
	}
	names := SlotNames(n.Name, n.Slots)
	if err := events.CheckToken("collector", string(names[len(names)-1])); err != nil {
		return f, refuse(Invalid, "its collectors have the name of the machine and a number: %s", err)
	}
	if len(n.NKeys) > 0 && len(n.NKeys) != n.Slots {
		return f, refuse(Invalid, "%s for %s: give each slot a key of its own", phrase.Count(len(n.NKeys), "nkey"), phrase.Count(n.Slots, "slot"))
	}
	seen := map[string]bool{}
	for _, key := range n.NKeys {
		switch {
		case !nkeys.IsValidPublicUserKey(key):
			return f, refuse(Invalid, "%q is not the public key of a user: `tacho machine add` makes one for each slot", key)
		case seen[key]:
			return f, refuse(Invalid, "the key %s is given twice: give each slot a key of its own", key)
		}
		seen[key] = true
	}
	return n.apply(f)
}

// AddMachine registers a machine of a pool and a collector for each of its slots, and assigns each of these to a free
// lane of the pool, all in one append. Names are unique for ever.
func (c *Control) AddMachine(ctx context.Context, by By, n NewMachine) (MachineAnswer, error) {
	wanted, err := n.described()
	if err != nil {
		return MachineAnswer{}, err
	}
	names := SlotNames(n.Name, wanted.Slots)
	holders, err := c.keyHolders(ctx, n.NKeys)
	if err != nil {
		return MachineAnswer{}, err
	}
	var out MachineAnswer
	out.Answer, err = c.onMachine(ctx, by, n.Name, func(tx *eventlog.Tx, known machine) ([]events.Fact, error) {
		var err error
		switch {
		case known.removed:
			return nil, known.known(n.Name)
		case known.described != nil:
			if err := sameMachine(*known.described, wanted); err != nil {
				return nil, err
			}
			out.Collectors, err = slotsOf(ctx, tx, names)
			return nil, err
		}
		for i, holder := range holders {
			if holder != "" {
				return nil, usedKey(n.NKeys[i], holder, names[i])
			}
		}
		var facts []events.Fact
		facts, out.Collectors, err = slots(ctx, tx, wanted, names, n.NKeys)
		return append([]events.Fact{wanted}, facts...), err
	})
	return out, err
}

// keyHolders returns who has or had each of the keys; empty for a key that is new.
func (c *Control) keyHolders(ctx context.Context, keys []string) ([]events.CollectorName, error) {
	holders := make([]events.CollectorName, len(keys))
	if c.KeyHolder == nil {
		return holders, nil
	}
	for i, key := range keys {
		var err error
		if holders[i], err = c.KeyHolder(ctx, key); err != nil {
			return nil, err
		}
	}
	return holders, nil
}

// slots returns the facts that register the collectors of a new machine and assign them to free lanes of its pool.
func slots(ctx context.Context, tx *eventlog.Tx, m events.MachineDescribed, names []events.CollectorName, keys []string) (facts []events.Fact, made []SlotCollector, err error) {
	lanes := freeLanes{tx: tx, pool: m.Pool}
	for i, name := range names {
		known, err := collectorOf(ctx, tx, name)
		if err != nil {
			return nil, nil, err
		}
		if known.Registered != nil {
			return nil, nil, refuse(Conflict, "there is or was a collector %s, and names are unique for ever: give machine %s another name", name, m.Machine)
		}
		lane, err := lanes.next(ctx)
		if err != nil {
			return nil, nil, err
		}
		registered := events.CollectorRegistered{Name: name, Target: lane.Target, Set: lane.Set, OS: m.OS, Arch: m.Arch, Machine: m.Machine}
		if len(keys) > 0 {
			registered.NKey = keys[i]
		}
		facts = append(facts, registered, events.LaneAssigned{Lane: lane, Name: name})
		made = append(made, SlotCollector{name, lane})
	}
	return facts, made, nil
}

// slotsOf reads the collectors of a machine that is registered.
func slotsOf(ctx context.Context, tx *eventlog.Tx, names []events.CollectorName) (made []SlotCollector, err error) {
	for _, name := range names {
		known, err := collectorOf(ctx, tx, name)
		if err != nil {
			return nil, err
		}
		if known.Registered != nil {
			made = append(made, SlotCollector{name, known.Registered.Lane()})
		}
	}
	return made, nil
}

// onMachine takes a decision on a machine and on everything else that the decision reads, and records it.
func (c *Control) onMachine(ctx context.Context, by By, name events.MachineName, decision func(*eventlog.Tx, machine) ([]events.Fact, error)) (Answer, error) {
	if err := events.CheckMachine(name); err != nil {
		return Answer{}, refuse(Invalid, "%s", err)
	}
	var version events.Seq
	seq, err := eventlog.Transact(ctx, c.Log, func(tx *eventlog.Tx) ([]events.Event, error) {
		known, err := eventlog.StateOf(ctx, tx, events.MachineSubject(name), evolveMachine)
		if err != nil {
			return nil, err
		}
		version = tx.Version(events.MachineSubject(name))
		facts, err := decision(tx, known)
		return c.events(by, facts...), err
	})
	return answer(seq, version, err)
}

// SetMachine changes what a machine offers. Its running jobs go on.
func (c *Control) SetMachine(ctx context.Context, by By, name events.MachineName, change MachineChange) (Answer, error) {
	return c.onMachine(ctx, by, name, func(_ *eventlog.Tx, known machine) ([]events.Fact, error) {
		if err := known.known(name); err != nil {
			return nil, err
		}
		next, err := change.apply(*known.described)
		if err != nil || len(differences(*known.described, next)) == 0 {
			return nil, err
		}
		return []events.Fact{next}, nil
	})
}

// RemoveMachine removes a machine for good. It refuses while the machine has active collectors. The others are removed
// with it, so that none of them is activated again.
func (c *Control) RemoveMachine(ctx context.Context, by By, name events.MachineName, reason string) (Answer, error) {
	if err := shortReason(reason); err != nil {
		return Answer{}, err
	}
	return c.onMachine(ctx, by, name, func(tx *eventlog.Tx, known machine) ([]events.Fact, error) {
		if known.removed {
			return nil, nil
		}
		if err := known.known(name); err != nil {
			return nil, err
		}
		facts := []events.Fact{events.MachineRemoved{Machine: name, Reason: reason}}
		var active []string
		for _, slot := range SlotNames(name, known.described.Slots) {
			one, err := collectorOf(ctx, tx, slot)
			switch {
			case err != nil:
				return nil, err
			case one.Active:
				active = append(active, string(slot))
			case !one.Removed:
				facts = append(facts, events.CollectorRemoved{Name: slot, Reason: reason})
			}
		}
		if len(active) > 0 {
			return nil, refuse(Conflict, "machine %s has active collectors: first `tacho collector deactivate` or `tacho collector remove` %s", name, strings.Join(active, ", "))
		}
		return facts, nil
	})
}
