package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// block is a part of a report that is shown whole, or with fewer rows, or not at all.
type block struct {
	// rank orders blocks by importance: blocks with a smaller rank are kept longer.
	rank int
	// name says in a few words what is missing when the block is not shown.
	name string
	// open and shut enclose everything. head comes before the rows and is only shown with them.
	open, head string
	rows       []string
	shut       string
}

// The ranks of blocks, best first.
const (
	rankNew = iota
	rankVerdict
	rankJobs
	rankCases
	rankFailed
	rankMetric
	rankQuiet
	rankAbsent
)

// more returns the line that says how many rows of a block are not shown.
func more(n int, rest string) string { return fmt.Sprintf("\n%d more: %s.\n", n, rest) }

// size returns how many bytes the block has with its first n rows.
func (b block) size(n int, rest string) int {
	size := len(b.open) + len(b.shut)
	if n > 0 {
		size += len(b.head)
	}
	for _, row := range b.rows[:n] {
		size += len(row)
	}
	if n < len(b.rows) {
		size += len(more(len(b.rows)-n, rest))
	}
	return size
}

// fit joins the head and the blocks in their order. To keep the limit, in bytes, it leaves out whole rows from the end
// of blocks, and whole blocks, the least important first. rest says where to find everything. A limit of 0 leaves
// nothing out.
func fit(head string, blocks []block, rest string, limit int) string {
	blocks = slices.DeleteFunc(blocks, func(b block) bool { return b.open == "" && len(b.rows) == 0 })
	shown := make([]int, len(blocks))
	for i, b := range blocks {
		shown[i] = len(b.rows)
	}
	if limit > 0 {
		shown = choose(blocks, rest, limit-len(head)-len(missing(nil, rest))-maxMissing)
	}
	var out strings.Builder
	out.WriteString(head)
	var absent []string
	for i, b := range blocks {
		if shown[i] < 0 {
			absent = append(absent, b.name)
			continue
		}
		out.WriteString(b.open)
		if shown[i] > 0 {
			out.WriteString(b.head)
		}
		for _, row := range b.rows[:shown[i]] {
			out.WriteString(row)
		}
		if n := len(b.rows) - shown[i]; n > 0 {
			out.WriteString(more(n, rest))
		}
		out.WriteString(b.shut)
	}
	if len(absent) > 0 {
		out.WriteString(missing(absent, rest))
	}
	return out.String()
}

// choose returns how many rows of each block fit into the room; -1 leaves out the whole block. In the first turn no
// block takes more than half of the room that is left: a long list must not hide the tables.
func choose(blocks []block, rest string, room int) []int {
	order := make([]int, len(blocks))
	shown := make([]int, len(blocks))
	for i := range blocks {
		order[i], shown[i] = i, -1
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(blocks[a].rank, blocks[b].rank) })
	for _, share := range []int{2, 1} {
		for _, i := range order {
			b, used := blocks[i], 0
			if shown[i] >= 0 {
				used = b.size(shown[i], rest)
			}
			// The size grows with the rows, except at the last row: with it the line about missing rows goes away.
			n := len(b.rows)
			if b.size(n, rest)-used > room/share {
				n = largest(len(b.rows)-1, func(n int) bool { return b.size(n, rest)-used <= room/share })
			}
			if n > shown[i] {
				room -= b.size(n, rest) - used
				shown[i] = n
			}
		}
	}
	return shown
}

// largest returns the largest number from 0 to n for which ok holds; -1 if there is none. ok must also hold for all
// smaller numbers.
func largest(n int, ok func(int) bool) int {
	low, high := -1, n
	for low < high {
		if mid := (low + high + 1) / 2; ok(mid) {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// maxMissing bounds the length of the list of missing blocks.
const maxMissing = 1000

// missing says which blocks are left out.
func missing(names []string, rest string) string {
	var list strings.Builder
	for i, name := range names {
		if list.Len()+len(name) > maxMissing-50 {
			fmt.Fprintf(&list, " and %d more", len(names)-i)
			break
		}
		if i > 0 {
			list.WriteString(", ")
		}
		list.WriteString(name)
	}
	return fmt.Sprintf("\nThis report is cut to fit into a comment. Left out: %s; %s.\n", list.String(), rest)
}
