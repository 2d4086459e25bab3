package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Row is one kind of work, which Tacho and its peers do in turns.
type Row struct {
	// Name chooses the row; Work says what is done.
	Name, Work string
	// Figures are what each turn measures.
	Figures []Figure
	// Rounds is how many turns each side has; 0 means 3.
	Rounds int
	// Run prepares the sides. The first one is Tacho. What they start, the bed ends.
	Run func(ctx context.Context, bed *Bed) ([]Side, error)
}

// Figure is one number that a turn measures.
type Figure struct {
	Name, Unit string
	// Better says which numbers are better.
	Better Better
	// Goals are what Tacho should reach.
	Goals []Goal
}

// Better says which numbers are better.
type Better string

const (
	higher Better = "higher"
	lower  Better = "lower"
)

// Goal is a bound for Tacho's number, or for how many times the number of a peer it is.
type Goal struct {
	// Peer is the name of a side; empty if the bound is for the number itself.
	Peer  string
	Bound float64
}

// Side is one of those that do the work. A turn returns one number for each figure of the row.
type Side struct {
	Name string
	Turn func(ctx context.Context) ([]float64, error)
}

// Result is what came of a row.
type Result struct {
	Row  string `json:"row"`
	Work string `json:"work"`
	// Lines are empty if the row failed; Failure says why.
	Lines   []Line        `json:"lines,omitempty"`
	Failure string        `json:"failure,omitempty"`
	Took    time.Duration `json:"took_ns"`
}

// Line compares Tacho with one peer in one figure. Without a peer it has Tacho's number alone.
type Line struct {
	Figure string   `json:"figure"`
	Unit   string   `json:"unit,omitempty"`
	Better Better   `json:"better"`
	Tacho  Numbers  `json:"tacho"`
	Peer   string   `json:"peer,omitempty"`
	Theirs *Numbers `json:"theirs,omitempty"`
	// Ratio is Tacho's median over that of the peer.
	Ratio float64 `json:"ratio,omitempty"`
	// Goal bounds the ratio or, without a peer, the number; Reached tells whether it keeps that.
	Goal    *float64 `json:"goal,omitempty"`
	Reached *bool    `json:"reached,omitempty"`
}

// Numbers are those of all turns of a side.
type Numbers struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

func numbersOf(all []float64) Numbers {
	sorted := slices.Sorted(slices.Values(all))
	middle := (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	return Numbers{middle, sorted[0], sorted[len(sorted)-1]}
}

// measure runs a row.
func (r Row) measure(ctx context.Context, bed *Bed) Result {
	began := time.Now()
	lines, err := r.play(ctx, bed)
	out := Result{Row: r.Name, Work: r.Work, Lines: lines, Took: time.Since(began)}
	if err != nil {
		out.Lines, out.Failure = nil, err.Error()
	}
	return out
}

// play lets the sides take turns. A slow moment of the machine so meets all of them.
func (r Row) play(ctx context.Context, bed *Bed) ([]Line, error) {
	sides, err := r.Run(ctx, bed)
	if err != nil {
		return nil, err
	}
	// found has the numbers of each side, by figure.
	found := make([][][]float64, len(sides))
	for round := range r.Rounds {
		for i, s := range sides {
			bed.say("%s: round %d of %d, %s", r.Name, round+1, r.Rounds, s.Name)
			numbers, err := s.Turn(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.Name, err)
			}
			if len(numbers) != len(r.Figures) {
				return nil, fmt.Errorf("%s: %d numbers for %d figures", s.Name, len(numbers), len(r.Figures))
			}
			found[i] = append(found[i], numbers)
			// A turn may take half an hour: what it found is said at once, and not lost if a later one is broken off.
			bed.say("%s: round %d of %d, %s: %s", r.Name, round+1, r.Rounds, s.Name, r.found(numbers))
		}
	}
	return r.compare(sides, found), nil
}

// found says what a turn found. A zero is a number that the side does not have.
func (r Row) found(numbers []float64) string {
	var said []string
	for i, figure := range r.Figures {
		if numbers[i] != 0 {
			said = append(said, fmt.Sprintf("%s %s %s", figure.Name, number(numbers[i]), figure.Unit))
		}
	}
	return strings.Join(said, ", ")
}

func (r Row) compare(sides []Side, found [][][]float64) (lines []Line) {
	for f, figure := range r.Figures {
		of := func(side int) Numbers {
			var all []float64
			for _, numbers := range found[side] {
				all = append(all, numbers[f])
			}
			return numbersOf(all)
		}
		tacho := of(0)
		blank := Line{Figure: figure.Name, Unit: figure.Unit, Better: figure.Better, Tacho: tacho}
		alone, compared := blank, false
		if alone.aim(figure, tacho.Median) {
			lines, compared = append(lines, alone), true
		}
		for i, s := range sides[1:] {
			line, theirs := blank, of(i+1)
			if theirs.Median == 0 {
				continue // it has no such number
			}
			line.Peer, line.Theirs, line.Ratio = s.Name, &theirs, tacho.Median/theirs.Median
			line.aim(figure, line.Ratio)
			lines, compared = append(lines, line), true
		}
		if !compared {
			lines = append(lines, blank)
		}
	}
	return lines
}

// aim fills in the goal of the line and reports whether it has one.
func (l *Line) aim(f Figure, got float64) bool {
	for _, g := range f.Goals {
		if g.Peer == l.Peer {
			reached := got >= g.Bound
			if f.Better == lower {
				reached = got <= g.Bound
			}
			l.Goal, l.Reached = &g.Bound, &reached
			return true
		}
	}
	return false
}
