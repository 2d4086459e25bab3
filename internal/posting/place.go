package posting

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tachobench/tacho/events"
)

// Place is how far a receiver was told of a log.
type Place struct {
	// Identity is the identity of the log; empty if no place was saved.
	Identity string     `json:"identity"`
	Seq      events.Seq `json:"seq"`
}

// ReadPlace returns the place in a file; a zero place if there is no file.
func ReadPlace(file string) (Place, error) {
	var p Place
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return p, fmt.Errorf("read how far it was told: %w; remove the file to begin with new events", err)
	}
	return p, nil
}

// write saves the place. Whatever happens, the file has the old one or the new one.
func (p Place) write(file string) error {
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
		return fmt.Errorf("keep how far it was told: %w", err)
	}
	return nil
}
