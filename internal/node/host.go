// Package node puts the parts of Tacho together in one process: everything on this machine (`tacho up`), some parts on a
// cluster (`tacho serve`), or a collector. It starts servers, opens connections and listeners, and waits for all of it to end;
// the parts decide by themselves.
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
	// ConfigFile and Verbose are passed on to collectors, which are processes of their own.
	ConfigFile string
	Verbose    bool
	// Version is the version that this program reports.
	Version string
	// Actor is the person who typed the command.
	Actor  events.Actor
	Clock  func() time.Time
	Logger *slog.Logger
	// Say prints a line for a person about what is being done. Stderr takes what collectors and builds print.
	Say    func(format string, args ...any)
	Stderr io.Writer
}

func (h *Host) data() datadir.Dir { return datadir.Dir(h.Config.Data) }
