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
	// Identity is the identity of the log; empty if no place was saved.
	Identity string     `json:"identity"`
	Seq      events.Seq `json:"seq"`
}

// readPlace returns the place in a file; a zero place if there is no file.
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
		return p, fmt.Errorf("read how far the webhook of alerts was told: %w; remove the file to begin with new alerts", err)
	}
	return p, nil
}

// write saves the place. Whatever happens, the file has the old one or the new one.
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
