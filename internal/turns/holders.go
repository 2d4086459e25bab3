package turns

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// holdersDir has a file for each collector that has a turn. It is for people alone: the locks decide.
const holdersDir = "holders"

// maxNote bounds the file of a holder in bytes.
const maxNote = 4096

// Holder is a collector that has a turn.
type Holder struct {
	Name  string    `json:"name"`
	PID   int       `json:"pid"`
	Job   string    `json:"job"`
	Since time.Time `json:"since"`
	// Gone says that its process has ended. A command of it may go on, and keeps the turn.
	Gone bool `json:"-"`
}

// Say tells the others that wait which job has the turn. A process that has not joined says nothing.
func (t *Turn) Say(job string, now time.Time) error {
	t.m.mu.Lock()
	name := t.m.name
	t.m.mu.Unlock()
	if name == "" {
		return nil
	}
	text, err := json.Marshal(Holder{Name: name, PID: os.Getpid(), Job: job, Since: now.UTC()})
	if err != nil {
		return err
	}
	t.note = filepath.Join(t.m.dir, holdersDir, name)
	fresh := t.note + "~" // no name of a collector has it
	if err := os.WriteFile(fresh, text, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, t.note)
}

// Holders returns the collectors that have a turn now, beside this one, by their names. What a process left that was killed counts
// only if no process is known that lives: then a command of it keeps the turn.
func (m *Machine) Holders() (holders []Holder) {
	files, err := filepath.Glob(filepath.Join(m.dir, holdersDir, "*"))
	if err != nil {
		return nil
	}
	for _, file := range files {
		h, ok := readHolder(file)
		if ok && h.PID != os.Getpid() {
			holders = append(holders, h)
		}
	}
	if slices.ContainsFunc(holders, func(h Holder) bool { return !h.Gone }) {
		holders = slices.DeleteFunc(holders, func(h Holder) bool { return h.Gone })
	}
	slices.SortFunc(holders, func(a, b Holder) int { return strings.Compare(a.Name, b.Name) })
	return holders
}

// readHolder reads the file of a holder; false if it is none.
func readHolder(file string) (h Holder, ok bool) {
	if strings.HasSuffix(file, "~") {
		return h, false
	}
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxNote {
		return h, false
	}
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &h) != nil || h.PID <= 0 {
		return h, false
	}
	h.Name = filepath.Base(file)
	h.Gone = errors.Is(unix.Kill(h.PID, 0), unix.ESRCH)
	return h, true
}
