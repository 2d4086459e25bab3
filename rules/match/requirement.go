package match

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Requirement is what a job needs of a machine: terms of which all must hold. The zero value asks for nothing. It never
// changes.
type Requirement struct {
	// oneOf are the names that will do, sorted; none means any.
	oneOf     [choices][]string
	traits    []string
	devices   []device
	memory    int64
	cpus      int
	exclusive bool
	text      string
}

// Named is a requirement and who has it: "the request", "queue bisect", "kind compile".
type Named struct {
	Who string
	Requirement
}

// ErrExclude is wrapped by an error that names terms which no machine can meet together.
var ErrExclude = errors.New("they exclude one another")

// Parse reads terms. Its error names the bad term and what may be written there.
func Parse(terms []string) (Requirement, error) {
	parts := make([]Named, len(terms))
	for i, s := range terms {
		r, err := parseTerm(s)
		if err != nil {
			return Requirement{}, err
		}
		parts[i].Requirement = r
	}
	return Join(parts...)
}

// Join returns the requirement that asks for all that the parts ask for. Its error names who asked for what, and wraps
// ErrExclude if no machine can have all of it. Devices add up, so join each part once.
func Join(parts ...Named) (Requirement, error) {
	var r Requirement
	for i, p := range parts {
		for c := range choices {
			r.narrow(c, p.oneOf[c])
			if r.oneOf[c] != nil && len(r.oneOf[c]) == 0 {
				return Requirement{}, exclusion(c, parts[:i+1])
			}
		}
		for _, trait := range p.traits {
			r.addTrait(trait)
		}
		for _, d := range p.devices {
			if r.addDevice(d) > MaxCount {
				return Requirement{}, fmt.Errorf("more than %d devices %s are asked for together", MaxCount, d.name)
			}
		}
		r.memory = max(r.memory, p.memory)
		r.cpus = max(r.cpus, p.cpus)
		r.exclusive = r.exclusive || p.exclusive
		if r.count() > MaxTerms {
			return Requirement{}, fmt.Errorf("more than %d terms are asked for together%s", MaxTerms, by(parts[:i+1]))
		}
	}
	r.text = strings.Join(r.write(), " ")
	return r, nil
}

// narrow keeps the names that are among others, too. No others means any.
func (r *Requirement) narrow(c choice, others []string) {
	switch {
	case others == nil:
	case r.oneOf[c] == nil:
		r.oneOf[c] = others
	default:
		r.oneOf[c] = common(r.oneOf[c], others)
	}
}

func common(a, b []string) []string {
	both := []string{}
	for _, name := range a {
		if slices.Contains(b, name) {
			both = append(both, name)
		}
	}
	return both
}

func (r *Requirement) addTrait(trait string) {
	if i, ok := slices.BinarySearch(r.traits, trait); !ok {
		r.traits = slices.Insert(r.traits, i, trait)
	}
}

// addDevice returns how many of these devices are asked for now.
func (r *Requirement) addDevice(d device) int {
	i, ok := slices.BinarySearchFunc(r.devices, d.name, func(d device, name string) int { return strings.Compare(d.name, name) })
	if !ok {
		r.devices = slices.Insert(r.devices, i, device{name: d.name})
	}
	r.devices[i].count += d.count
	return r.devices[i].count
}

// exclusion names two terms that have no name in common: the last one and one before it. If there is no such pair, it
// names all.
func exclusion(c choice, parts []Named) error {
	last := parts[len(parts)-1]
	var all []string
	for _, p := range parts {
		if p.oneOf[c] == nil {
			continue
		}
		term := p.asked(c)
		if len(common(p.oneOf[c], last.oneOf[c])) == 0 {
			all = []string{term, last.asked(c)}
			break
		}
		all = append(all, term)
	}
	return fmt.Errorf("%s: %w", list(all, "and"), ErrExclude)
}

// asked says which names are asked for, and who asks.
func (n Named) asked(c choice) string {
	term := n.choose(c)
	if n.Who == "" {
		return term
	}
	return fmt.Sprintf("%s (%s)", term, n.Who)
}

// by lists who asked, in brackets.
func by(parts []Named) string {
	var names []string
	for _, p := range parts {
		if p.Who != "" && p.text != "" {
			names = append(names, p.Who)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (by " + list(names, "and") + ")"
}

// choose is the term of a choice.
func (r Requirement) choose(c choice) string { return c.String() + "=" + strings.Join(r.oneOf[c], ",") }

// count returns the number of terms in canonical form.
func (r Requirement) count() int {
	n := len(r.traits) + len(r.devices)
	for _, names := range r.oneOf {
		if names != nil {
			n++
		}
	}
	for _, asked := range []bool{r.memory > 0, r.cpus > 0, r.exclusive} {
		if asked {
			n++
		}
	}
	return n
}

func (r Requirement) write() (terms []string) {
	for c := range choices {
		if r.oneOf[c] != nil {
			terms = append(terms, r.choose(c))
		}
	}
	for _, trait := range r.traits {
		terms = append(terms, "trait="+trait)
	}
	for _, d := range r.devices {
		terms = append(terms, d.String())
	}
	if r.memory > 0 {
		terms = append(terms, "memory="+FormatMemory(r.memory))
	}
	if r.cpus > 0 {
		terms = append(terms, "cpus="+strconv.Itoa(r.cpus))
	}
	if r.exclusive {
		terms = append(terms, "exclusive")
	}
	slices.Sort(terms)
	return terms
}

// Terms returns the canonical form: sorted, each term said in one way; nil if nothing is asked for. Parse of it returns an
// equal requirement.
func (r Requirement) Terms() []string {
	if r.text == "" {
		return nil
	}
	return strings.Fields(r.text)
}

// String returns the canonical form in one line; it is empty if nothing is asked for. Two requirements are of the same
// class exactly if it is equal.
func (r Requirement) String() string { return r.text }

// MemoryMiB returns the memory that the job asks for, in MiB; 0 for none.
func (r Requirement) MemoryMiB() int64 { return r.memory }

// CPUs returns how many CPUs the job asks for; 0 for none.
func (r Requirement) CPUs() int { return r.cpus }

// Exclusive reports whether the job runs alone on its machine.
func (r Requirement) Exclusive() bool { return r.exclusive }

// Beyond returns r without the devices that base asks for as well. A person who writes down all terms of a job means these once,
// and Join adds devices up.
func (r Requirement) Beyond(base Requirement) Requirement {
	left := r
	left.devices = nil
	for _, d := range r.devices {
		for _, b := range base.devices {
			if b.name == d.name {
				d.count -= b.count
			}
		}
		if d.count > 0 {
			left.devices = append(left.devices, d)
		}
	}
	left.text = strings.Join(left.write(), " ")
	return left
}
