package control

import (
	"context"

	"github.com/nats-io/nkeys"

	"github.com/tachobench/tacho/events"
)

// RotateKey gives a collector a new key. The old key is refused from here on. RotateKey refuses a key that any
// collector has or had, because others may have seen it.
func (c *Control) RotateKey(ctx context.Context, by By, name events.CollectorName, nkey, reason string) (Answer, error) {
	if !nkeys.IsValidPublicUserKey(nkey) {
		return Answer{}, refuse(Invalid, "%q is not the public key of a user: `tacho collector rotate %s` makes one", nkey, name)
	}
	return c.registered(ctx, by, name, func(known collector) ([]events.Fact, error) {
		if known.Registered.NKey == nkey {
			return nil, nil
		}
		if err := c.keyIsFree(ctx, name, nkey, known); err != nil {
			return nil, err
		}
		return []events.Fact{events.CollectorKeyRotated{Name: name, NKey: nkey, Reason: reason}}, nil
	})
}

// keyIsFree returns a refusal if a collector has or had the key.
func (c *Control) keyIsFree(ctx context.Context, name events.CollectorName, nkey string, known collector) error {
	if nkey == "" {
		return nil
	}
	var holder events.CollectorName
	for _, e := range known.registry {
		if keyOf(e.Fact) == nkey {
			holder = name
		}
	}
	if holder == "" && c.KeyHolder != nil {
		var err error
		if holder, err = c.KeyHolder(ctx, nkey); err != nil {
			return err
		}
	}
	if holder != "" {
		return usedKey(nkey, holder, name)
	}
	return nil
}

// usedKey refuses a key that is or was another collector's.
func usedKey(nkey string, holder, name events.CollectorName) error {
	return refuse(Conflict, "the key %s is or was that of collector %s, and a key is used once: `tacho collector rotate %s` makes a new one", nkey, holder, name)
}

// keyOf returns the key that a fact gives a collector; empty for other facts.
func keyOf(f events.Fact) string {
	// The others give no key.
	//exhaustive:ignore
	switch f := f.(type) {
	case events.CollectorRegistered:
		return f.NKey
	case events.RegistryCopied:
		return f.NKey
	case events.CollectorKeyRotated:
		return f.NKey
	}
	return ""
}

// RemoveCollector removes a collector for good: its key is refused within a second, its lane is free, the scheduler
// gives back the job that it has in hand, and its name is never used again. Its results count until the job is given
// back. Its history stays.
func (c *Control) RemoveCollector(ctx context.Context, by By, name events.CollectorName, reason string) (Answer, error) {
	return c.takeOut(ctx, by, name, func(known collector) ([]events.Fact, error) {
		if known.Removed {
			return nil, nil
		}
		if err := known.exists(name); err != nil {
			return nil, err
		}
		return []events.Fact{events.CollectorRemoved{Name: name, Reason: reason}}, nil
	})
}
