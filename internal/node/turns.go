package node

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/internal/turns"
)

// turns returns the directory by which the collectors of this machine take turns. The default has the name of the host in
// it, for data directories that several machines share.
func (h *Host) turns() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return cmp.Or(h.Config.Collector.Turns, h.data().Path("turns", host))
}

// join says to the other collectors of the machine that this one shares it.
func (c *Collector) join(machine *turns.Machine) (leave func(), err error) {
	measures := turns.MeasureAlone
	if c.Config.Collector.Measure == config.MeasureShared {
		measures = turns.Measure
	}
	leave, err = machine.Join(turns.User{Name: string(c.Name), PID: os.Getpid(), Measures: measures})
	if err != nil {
		return nil, fmt.Errorf("share the machine with its other collectors by %s: %w", c.turns(), err)
	}
	return leave, nil
}

// besides returns the commands of the configuration that run beside what is measured, as settings of the environment.
func besides(c config.Collector) map[string]string {
	out := map[string]string{}
	for name, argv := range map[string][]string{"before": c.Before, "after": c.After} {
		if len(argv) > 0 {
			out[name] = strings.Join(argv, " ")
		}
	}
	return out
}
