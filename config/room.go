package config

import (
	"errors"
	"slices"
)

// Room says when the log, its disk or the database counts as nearly full.
type Room struct {
	// Marks are percents. An alert is raised at the first, and raised again with other words at each further one. Without
	// marks there is none before something is full. With low marks on a disk that others fill, the alert stands for ever.
	Marks []int `toml:"marks" json:"marks"`
	// DatabaseBytes is how large the database may become; 0 if no limit is known. Nothing stops at it: it is what the
	// alert is measured against, for a Postgres whose disk Tacho does not see.
	DatabaseBytes int64 `toml:"database_bytes" json:"database_bytes"`
}

func defaultRoom() Room { return Room{Marks: []int{80, 90, 95}} }

func (r Room) check() error {
	for _, m := range r.Marks {
		if m < 1 || m > 99 {
			return errors.New("room.marks: percents from 1 to 99")
		}
	}
	if !slices.IsSorted(r.Marks) {
		return errors.New("room.marks: the lowest first")
	}
	if r.DatabaseBytes < 0 {
		return errors.New("room.database_bytes: above 0, or 0 for no limit")
	}
	return nil
}
