package control

import (
	"context"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
)

// The bounds of the policy. Floors are in thousandths of the machine time.
const (
	maxFloor  = 500
	maxFloors = 900
	maxLag    = 7 * 24 * time.Hour
)

// PolicyChange changes the policy of shares. What is nil stays as it is.
type PolicyChange struct {
	// FloorDefault and FloorIdle are in thousandths of the machine time, 0 to 500, together at most 900.
	FloorDefault *int `json:"floor_default,omitempty"`
	FloorIdle    *int `json:"floor_idle,omitempty"`
	// LagMS is machine time in milliseconds, above 0 and at most 7 days.
	LagMS *int64 `json:"lag_ms,omitempty"`
}

// policy is the policy that stands; nil while none was set.
type policy *events.SharePolicySet

func evolvePolicy(p policy, e events.Recorded) policy {
	if f, ok := e.Fact.(events.SharePolicySet); ok {
		return &f
	}
	return p
}

// policyOf returns the policy that counts.
func policyOf(p policy) events.SharePolicySet {
	if p == nil {
		return events.UsualPolicy()
	}
	return *p
}

// decidePolicy returns the fact that changes the policy; none if it is so already.
func decidePolicy(p policy, change PolicyChange) ([]events.Fact, error) {
	next := policyOf(p)
	for _, set := range []struct {
		name  string
		field *int
		value *int
	}{{"default", &next.FloorDefault, change.FloorDefault}, {"idle", &next.FloorIdle, change.FloorIdle}} {
		if set.value == nil {
			continue
		}
		if *set.value < 0 || *set.value > maxFloor {
			return nil, refuse(Invalid, "floor of %s: %d thousandths of the machine time: use 0 to %d, which is 0 %% to 50 %%", set.name, *set.value, maxFloor)
		}
		*set.field = *set.value
	}
	if sum := next.FloorDefault + next.FloorIdle; sum > maxFloors {
		return nil, refuse(Invalid, "the floors of default (%d) and idle (%d) are together %d thousandths of the machine time: use at most %d, which is 90 %%",
			next.FloorDefault, next.FloorIdle, sum, maxFloors)
	}
	if change.LagMS != nil {
		if *change.LagMS <= 0 || *change.LagMS > maxLag.Milliseconds() {
			return nil, refuse(Invalid, "lag of %d ms: use more than 0 and at most %s (%d ms)", *change.LagMS, phrase.Duration(maxLag), maxLag.Milliseconds())
		}
		next.LagMS = *change.LagMS
	}
	if p != nil && *p == next {
		return nil, nil
	}
	return []events.Fact{next}, nil
}

// SetSharePolicy changes the rules by which the farm is shared.
func (c *Control) SetSharePolicy(ctx context.Context, by By, change PolicyChange) (Answer, error) {
	return decide(ctx, c, by, events.ShareSubject(), evolvePolicy, func(p policy) ([]events.Fact, error) { return decidePolicy(p, change) })
}

// seeShape reads the version of the policy. A decision that may end with shaping calls it before it reads anything else:
// what it reads later is then at least as new as what the version stands for.
func seeShape(ctx context.Context, tx *eventlog.Tx) error {
	_, _, err := tx.Last(ctx, events.ShareSubject())
	return err
}

// shaping adds the policy, as it stands, to facts that change which accounts and queues there are, or which queue is
// part of which. So the subject of the policy orders all such changes: of two at the same time one decides again on what
// the other did. No name goes to an account and to a queue, and no queue becomes part of itself. The caller has called
// seeShape: if the policy was recorded since then, shaping returns a conflict.
func shaping(ctx context.Context, tx *eventlog.Tx, facts []events.Fact) ([]events.Fact, error) {
	p, err := eventlog.StateOf(ctx, tx, events.ShareSubject(), evolvePolicy)
	return append(facts, policyOf(p)), err
}
