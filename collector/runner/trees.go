package runner

import (
	"errors"
	"fmt"
	"os"
)

// trees are those of two sides that are prepared for one path. One of them is there, the other is parked beside it.
type trees struct {
	slot string
	// at is the side whose tree is at the path of the slot; empty for none.
	at string
}

// The sides, as the parked trees are named after the slot. The names are equally long.
const (
	sideA = ".a"
	sideB = ".b"
)

// park frees the path of the slot.
func (t *trees) park() error {
	if t.at == "" {
		return nil
	}
	if err := os.Rename(t.slot, t.slot+t.at); err != nil {
		return fmt.Errorf("%w: park a tree beside the slot: %w", ErrTransient, err)
	}
	t.at = ""
	return nil
}

// use brings the tree of a side to the path of the slot.
func (t *trees) use(side string) error {
	if t.at == side {
		return nil
	}
	if err := t.park(); err != nil {
		return err
	}
	if err := os.Rename(t.slot+side, t.slot); err != nil {
		return fmt.Errorf("%w: bring a tree back into the slot: %w", ErrTransient, err)
	}
	t.at = side
	return nil
}

// drop deletes what is parked. What is in the slot is of no side any more.
func (t *trees) drop() error {
	t.at = ""
	if err := errors.Join(removeAll(t.slot+sideA), removeAll(t.slot+sideB)); err != nil {
		return fmt.Errorf("%w: delete what is parked beside the slot: %w", ErrTransient, err)
	}
	return nil
}
