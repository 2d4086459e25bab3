package watchdog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tachobench/tacho/events"
)

// place is how far the webhook was told of a log.
type place struct {
	// Identity is that of the log; empty when nothing was kept.
	Identity string     `json:"identity"`
	Seq      events.Seq `json:"seq"`
}

// readPlace returns what was kept in a file; nothing when there is no file.
func readPlace(file string) (place, error) {
	var p place
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return p, fmt.Errorf("read how far the webhook of alerts was told: %w; remove the file to begin with what is new", err)
	}
	return p, nil
}

// write keeps the place: the old one or the new one is in the file, whatever happens.
func (p place) write(file string) error {
	text, err := json.Marshal(p)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = os.WriteFile(file+".new", append(text, '\n'), 0o600)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		return fmt.Errorf("keep how far the webhook of alerts was told: %w", err)
	}
	return nil
}
