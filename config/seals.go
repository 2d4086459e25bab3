package config

import (
	"fmt"

	"github.com/tachobench/tacho/rules/seal"
)

// SealMode is the closed set of what a collector does about seals.
type SealMode string

// The modes. The empty one is SealsOff.
const (
	// SealsOff: seals are not looked at.
	SealsOff SealMode = "off"
	// SealsWarn: a job whose seals are wrong runs, and its page and the output of the collector say what is wrong.
	SealsWarn SealMode = "warn"
	// SealsEnforce: nothing of such a job runs, and it ends as a failure.
	SealsEnforce SealMode = "enforce"
)

// Seals say what a collector on this machine executes (docs/seals.md).
type Seals struct {
	// Mode is "off", "warn" or "enforce". Default: off.
	Mode SealMode `toml:"seals,omitempty" json:"seals,omitempty"`
	// Publishers are the public keys whose seals of definitions count, Dispatchers those whose seals of dispatches count: each as
	// `tacho seal key` prints it. To replace a key, add the new one to the list, use it, then remove the old one.
	Publishers  []string `toml:"publishers,omitempty" json:"publishers,omitempty"`
	Dispatchers []string `toml:"dispatchers,omitempty" json:"dispatchers,omitempty"`
}

// Checked reports whether the collector looks at seals.
func (s Seals) Checked() bool { return s.Mode != "" && s.Mode != SealsOff }

// Keys returns the keys of the lists.
func (s Seals) Keys() (publishers, dispatchers seal.Keys, err error) {
	publishers, err = seal.ParseKeys(s.Publishers)
	if err != nil {
		return nil, nil, fmt.Errorf("collector.publishers: %w", err)
	}
	dispatchers, err = seal.ParseKeys(s.Dispatchers)
	if err != nil {
		return nil, nil, fmt.Errorf("collector.dispatchers: %w", err)
	}
	return publishers, dispatchers, nil
}

func (s Seals) check() error {
	switch s.Mode {
	case "", SealsOff, SealsWarn, SealsEnforce:
	default:
		return fmt.Errorf("collector.seals %q: use %s, %s or %s", s.Mode, SealsOff, SealsWarn, SealsEnforce)
	}
	publishers, dispatchers, err := s.Keys()
	switch {
	case err != nil:
		return err
	case s.Checked() && len(publishers) == 0:
		return fmt.Errorf("collector.publishers: seals = %q needs at least one key here, or no job could run: list the public keys of those who publish definitions", s.Mode)
	case s.Checked() && len(dispatchers) == 0:
		return fmt.Errorf("collector.dispatchers: seals = %q needs at least one key here, or no job could run: list the public keys of the schedulers", s.Mode)
	}
	return nil
}
