// Package node puts the parts of Tacho together in one process: everything on this machine (`tacho up`), some parts on a
// cluster (`tacho serve`), or a collector. It starts servers, opens connections and listeners, and waits for all of it to end;
// what the parts decide is theirs.
package node

import (
	"io"
	"log/slog"
	"time"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/datadir"
)

// Host is what a process has from the command that started it.
type Host struct {
	Config config.Config
	// ConfigFile and Verbose are handed on to the collectors that are started as processes of their own.
	ConfigFile string
	Verbose    bool
	// Version is what this program says of itself.
	Version string
	// Actor is who typed the command.
	Actor  events.Actor
	Clock  func() time.Time
	Logger *slog.Logger
	// Say tells a person what is being done, a line at a time. Stderr takes what collectors and builds print.
	Say    func(format string, args ...any)
	Stderr io.Writer
}

func (h *Host) data() datadir.Dir { return datadir.Dir(h.Config.Data) }
