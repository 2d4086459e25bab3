package config

import (
	"errors"
	"fmt"
	"time"
)

// SLA says how long a job may wait for a machine. It changes nothing that Tacho does: waits are judged by it.
type SLA struct {
	// Target is how long a job may wait from the moment it may run until a collector takes it.
	Target Duration `toml:"target" json:"target"`
	// Lanes are other targets, by lane (linux-amd64/0), or by target (linux-amd64) for the matched jobs that measure it.
	Lanes map[string]Duration `toml:"lanes,omitempty" json:"lanes,omitempty"`
}

// DefaultSLA returns the default targets.
func DefaultSLA() SLA { return SLA{Target: Duration(15 * time.Minute)} }

// For returns the target of a lane, or of the matched jobs of a target.
func (s SLA) For(lane string) time.Duration {
	if own, ok := s.Lanes[lane]; ok {
		return own.Std()
	}
	return s.Target.Std()
}

func (s SLA) check() error {
	if s.Target.Std() < time.Second {
		return errors.New("sla.target: at least 1s")
	}
	for lane, target := range s.Lanes {
		if lane == "" || target.Std() < time.Second {
			return fmt.Errorf("sla.lanes: %q is %s: name a lane, such as linux-amd64/0, and at least 1s", lane, target.Std())
		}
	}
	return nil
}
