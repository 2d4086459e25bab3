package node

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tachobench/tacho/collector"
	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/rules/seal"
)

// maxKeyFile bounds what is read of a file that should hold a key.
const maxKeyFile = 4 << 10

// SealKey reads the file of a private key; nil without a file. what is the flag or key of the configuration that names it.
func SealKey(what, file string) (*seal.Private, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, usage.Errorf("%s: %s; `tacho seal key` makes a key", what, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return nil, usage.Errorf("%s: %s", what, err)
	}
	key, err := seal.ParsePrivate(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, usage.Errorf("%s: %s: %s", what, file, err)
	}
	return key, nil
}

// sealKeys are the private keys that a configuration names; nil for none.
type sealKeys struct {
	suites, scheduler *seal.Private
	// pollers are those of the pollers, by name.
	pollers map[string]*seal.Private
}

// sealKeys reads the private keys that the configuration names.
func (h *Host) sealKeys() (keys sealKeys, err error) {
	keys.suites, err = SealKey("seal_key", h.Config.SealKey)
	if err == nil {
		keys.scheduler, err = SealKey("scheduler.seal_key", h.Config.Scheduler.SealKey)
	}
	keys.pollers = map[string]*seal.Private{}
	for _, p := range h.Config.Pollers {
		if err == nil {
			keys.pollers[p.Name], err = SealKey("seal_key of poller "+p.Name, p.SealKey)
		}
	}
	return keys, err
}

// sealsOf returns what a collector does about seals; nil if it does not look at them.
func sealsOf(c config.Seals) (*collector.Seals, error) {
	if !c.Checked() {
		return nil, nil
	}
	publishers, dispatchers, err := c.Keys()
	return &collector.Seals{Enforce: c.Mode == config.SealsEnforce, Publishers: publishers, Dispatchers: dispatchers}, err
}

// doctorSeals reads the keys that the configuration names.
func (h *Host) doctorSeals() (out []Finding) {
	files := map[string]string{"seal_key": h.Config.SealKey, "scheduler.seal_key": h.Config.Scheduler.SealKey}
	names := []string{"seal_key", "scheduler.seal_key"}
	for _, p := range h.Config.Pollers {
		name := "seal_key of poller " + p.Name
		files[name], names = p.SealKey, append(names, name)
	}
	for _, name := range names {
		key, err := SealKey(name, files[name])
		switch {
		case err != nil:
			out = append(out, Finding{What: name, Verdict: "bad", Detail: err.Error()})
		case key != nil:
			f := Finding{What: name, Verdict: "good", Detail: "seals with key " + key.Public().ID}
			if info, err := os.Stat(files[name]); err == nil && info.Mode().Perm()&0o077 != 0 {
				f.Verdict, f.Next = "note", fmt.Sprintf("others on this machine may read it: chmod 600 %s", files[name])
			}
			out = append(out, f)
		}
	}
	if c := h.Config.Collector.Seals; c.Checked() {
		publishers, dispatchers, err := c.Keys()
		f := Finding{What: "collector.seals", Verdict: "good", Detail: fmt.Sprintf("%s; publishers %s; dispatchers %s", c.Mode, publishers, dispatchers)}
		if err != nil {
			f.Verdict, f.Detail = "bad", err.Error()
		}
		out = append(out, f)
	}
	return out
}
