// Package room says how full the log, its disk and the database are, and when that needs a person.
package room

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tachobench/tacho/internal/phrase"
)

// Place is something that can be full, as it was seen at one moment.
type Place struct {
	// About names it: "log", "account", "disk PATH", "database".
	About string `json:"about"`
	// Bytes is what is used of it. Limit is how much it takes; 0 if no limit is known.
	Bytes int64 `json:"bytes"`
	Limit int64 `json:"limit_bytes"`
	// GrowsPerDay is how many bytes it grew, counted for a day; 0 while that is not known.
	GrowsPerDay int64 `json:"grows_per_day"`
	// Full says why it takes nothing more; empty while it does.
	Full string `json:"full,omitempty"`
	// Next says how to make room.
	Next string `json:"next"`
}

// Percent returns how full it is; 0 without a limit.
func (p Place) Percent() float64 {
	if p.Limit <= 0 {
		return 0
	}
	return 100 * float64(p.Bytes) / float64(p.Limit)
}

// Use returns in words how full it is: "52 GiB of 64 GiB (81 %)".
func (p Place) Use() string {
	if p.Limit <= 0 {
		return phrase.Bytes(p.Bytes) + ", no limit is known"
	}
	return fmt.Sprintf("%s of %s (%.0f %%)", phrase.Bytes(p.Bytes), phrase.Bytes(p.Limit), p.Percent())
}

// Growth returns in words how it grows and when it will be full at that rate; empty if that is not known.
func (p Place) Growth() string {
	left := p.Limit - p.Bytes
	if p.GrowsPerDay <= 0 || p.Limit <= 0 || left <= 0 {
		return ""
	}
	said := "It grows by " + phrase.Bytes(p.GrowsPerDay) + " a day"
	if hours := float64(left) / float64(p.GrowsPerDay) * 24; hours < 10*365*24 {
		said += ", and is full in about " + phrase.Duration(max(time.Minute, time.Duration(hours*float64(time.Hour))).Truncate(time.Minute)) + " at that rate"
	}
	return said + "."
}

// Full is the mark of a place that takes nothing more.
const Full = 100

// slack is how many percent a place must fall below a mark before the mark is left: else it would come and go.
const slack = 2

// Mark returns the highest of the marks, in percent, that a place has passed, after it had passed the one before. It is 0
// below all marks.
func Mark(p Place, before int, marks []int) int {
	if p.Full != "" {
		return Full
	}
	passed := 0
	for _, m := range marks {
		if p.Percent() >= float64(m) {
			passed = m
		}
	}
	if before < Full && slices.Contains(marks, before) && passed < before && p.Percent() >= float64(before-slack) {
		return before
	}
	return passed
}

// Message returns what a person is told of a place that has passed a mark.
func (p Place) Message(mark int) string {
	said := fmt.Sprintf("%s is more than %d %% full: %s.", name(p.About), mark, p.Use())
	if mark == Full {
		said = fmt.Sprintf("%s takes nothing more: %s. It has %s. Nothing that was recorded is lost.", name(p.About), p.Full, p.Use())
	}
	if growth := p.Growth(); growth != "" && mark < Full {
		said += " " + growth
	}
	return said
}

// Same reports whether a message is about a mark.
func Same(message string, p Place, mark int) bool {
	words := fmt.Sprintf("%s is more than %d %% full", name(p.About), mark)
	return len(message) >= len(words) && message[:len(words)] == words
}

func name(about string) string {
	if about == "account" {
		return "The NATS account of the log"
	}
	return "The " + about
}

const (
	// rateFor is how far back the growth is counted, and leastRate how long it must have been watched.
	rateFor   = 24 * time.Hour
	leastRate = 10 * time.Minute
)

// Growth counts how fast each place grows. Use it from any goroutine.
type Growth struct {
	mu   sync.Mutex
	seen map[string][]sample
}

type sample struct {
	at    time.Time
	bytes int64
}

// Note takes what a place holds now, and returns the bytes by which it grows in a day; 0 while that is not known.
func (g *Growth) Note(about string, bytes int64, now time.Time) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.seen == nil {
		g.seen = map[string][]sample{}
	}
	list := g.seen[about]
	if n := len(list); n == 0 || now.Sub(list[n-1].at) >= leastRate {
		list = append(list, sample{now, bytes})
	}
	for len(list) > 1 && now.Sub(list[1].at) >= rateFor {
		list = list[1:]
	}
	g.seen[about] = list
	first := list[0]
	if now.Sub(first.at) < leastRate || bytes <= first.bytes {
		return 0
	}
	return int64(float64(bytes-first.bytes) / now.Sub(first.at).Hours() * 24)
}
