package match

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
)

// Lack is one thing that keeps a job from running on a machine.
type Lack struct {
	// Term is the canonical term that the machine does not meet; "only" and "accepts" are rules of the machine. Room adds
	// "slots" and "exclusive".
	Term string
	// Words say it of the machine: "lacks trait nvme", "accepts only master".
	Words string
	// short is how much of the term is missing, in parts of all.
	short int64
}

// all is what is missing of a term that does not hold at all.
const all = 1 << 20

// lacking begins the words of all that a machine can have more of.
const lacking = "lacks "

// Lacks returns all that an empty machine lacks to run a job of a request of this kind; nothing if it can.
func Lacks(r Requirement, kind events.RequestKind, o Offer) (lacks []Lack) {
	for c := range choices {
		if r.oneOf[c] != nil && !slices.Contains(r.oneOf[c], o.name(c)) {
			lacks = append(lacks, Lack{r.choose(c), other(c, r.oneOf[c], o.name(c)), all})
		}
	}
	for _, trait := range r.traits {
		if !o.has(trait) {
			lacks = append(lacks, Lack{"trait=" + trait, lacking + "trait " + trait, all})
		}
	}
	lacks = append(lacks, r.exceeds(o, size{}, "")...)
	if len(o.Only) > 0 && !slices.ContainsFunc(o.Only, func(trait string) bool { return slices.Contains(r.traits, trait) }) {
		lacks = append(lacks, Lack{"only", "takes only jobs that require " + list(o.Only, "or"), all})
	}
	if len(o.Accepts) > 0 && !slices.Contains(o.Accepts, kind) {
		lacks = append(lacks, Lack{"accepts", "accepts only " + list(o.Accepts, "and"), all})
	}
	return lacks
}

// size is an amount of what a machine can have more or less of.
type size struct {
	memory  int64
	cpus    int
	devices map[string]int
}

// exceeds returns what is missing of the size of a machine of which some is taken. The word tells what is free from what
// there is.
func (r Requirement) exceeds(o Offer, taken size, word string) (lacks []Lack) {
	for _, d := range r.devices {
		missing := shortage(int64(d.count), int64(o.Devices[d.name]-taken.devices[d.name]))
		if missing > 0 {
			words := lacking + phrase.Count(int(missing), word+d.name+" device")
			lacks = append(lacks, Lack{d.String(), words, missing * all / int64(d.count)})
		}
	}
	if missing := shortage(r.memory, o.MemoryMiB-taken.memory); missing > 0 {
		words := lacking + memoryWords(missing) + " of " + word + "memory"
		if o.MemoryMiB <= 0 {
			words = "does not state its memory"
		}
		lacks = append(lacks, Lack{"memory=" + FormatMemory(r.memory), words, missing * all / r.memory})
	}
	if missing := shortage(int64(r.cpus), int64(o.CPUs-taken.cpus)); missing > 0 {
		words := lacking + phrase.Count(int(missing), word+"CPU")
		if o.CPUs <= 0 {
			words = "does not state its CPUs"
		}
		lacks = append(lacks, Lack{"cpus=" + strconv.Itoa(r.cpus), words, missing * all / int64(r.cpus)})
	}
	return lacks
}

// shortage returns how much is missing of what is asked for.
func shortage(asked, has int64) int64 { return max(asked-max(has, 0), 0) }

func memoryWords(mib int64) string {
	if mib%1024 == 0 {
		return fmt.Sprintf("%d GiB", mib/1024)
	}
	return fmt.Sprintf("%d MiB", mib)
}

// other says that a machine has another name than one of those that will do.
func other(c choice, names []string, has string) string {
	want := list(names, "or")
	switch {
	case c == machine:
		return "is not " + want
	case has == "" && c == pool:
		return "is in no pool, not in " + want
	case has == "":
		return fmt.Sprintf("does not state its %v", c)
	case c == pool:
		return fmt.Sprintf("is in pool %s, not in %s", has, want)
	}
	return fmt.Sprintf("has %v %s, not %s", c, has, want)
}

// Sentence says of a machine, as "it", all that it lacks: "it lacks trait nvme and 8 GiB of memory".
func Sentence(lacks []Lack) string {
	var things, clauses []string
	for _, l := range lacks {
		if thing, ok := strings.CutPrefix(l.Words, lacking); ok {
			things = append(things, thing)
		} else {
			clauses = append(clauses, l.Words)
		}
	}
	if len(things) > 0 {
		clauses = slices.Insert(clauses, 0, lacking+list(things, "and"))
	}
	if len(clauses) == 0 {
		return "it lacks nothing"
	}
	return "it " + strings.Join(clauses, "; it ")
}

// list joins words as people do: "a, b and c".
func list[T ~string](words []T, last string) string {
	var s strings.Builder
	for i, w := range words {
		switch {
		case i > 0 && i == len(words)-1:
			s.WriteString(" " + last + " ")
		case i > 0:
			s.WriteString(", ")
		}
		s.WriteString(string(w))
	}
	return s.String()
}

// Nearest returns the machine that lacks least for a job of a request of this kind, and what it lacks: the fewest terms,
// then the smallest shortfall, then the first name. Of no offers it is the zero Offer.
func Nearest(r Requirement, kind events.RequestKind, offers []Offer) (nearest Offer, lacks []Lack) {
	for i, o := range offers {
		missing := Lacks(r, kind, o)
		if i == 0 || cmp.Or(cmp.Compare(len(missing), len(lacks)), cmp.Compare(shortfall(missing), shortfall(lacks)),
			cmp.Compare(o.Machine, nearest.Machine)) < 0 {
			nearest, lacks = o, missing
		}
	}
	return nearest, lacks
}

// shortfall adds up how much of each term is missing.
func shortfall(lacks []Lack) (sum int64) {
	for _, l := range lacks {
		sum += l.short
	}
	return sum
}

// Check returns an error if none of the machines can run a job, even when it is empty. The error names the job, the
// nearest machine and what it lacks.
func Check(job string, r Requirement, kind events.RequestKind, offers []Offer) error {
	if len(offers) == 0 {
		return fmt.Errorf("no machine can run %s: none is registered for matched jobs, add one: tacho machine add", job)
	}
	nearest, lacks := Nearest(r, kind, offers)
	if len(lacks) == 0 {
		return nil
	}
	return fmt.Errorf("no machine can run %s: %s comes nearest, %s", job, nearest.Machine, Sentence(lacks))
}
