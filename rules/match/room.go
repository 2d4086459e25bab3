package match

import "github.com/tachobench/tacho/internal/phrase"

// Room is what is reserved on one machine by its open places. It is a fold: it does what it is told, and what a machine
// offers less of than is reserved has no room until enough of it is freed.
type Room struct {
	offer Offer
	// open counts the open places by the text of their requirement. The rest are its sums.
	open   map[string]int
	places int
	// alone is how many of the open places are exclusive.
	alone int
	taken size
}

// NewRoom returns the room of an empty machine.
func NewRoom(o Offer) *Room {
	return &Room{offer: o, open: map[string]int{}, taken: size{devices: map[string]int{}}}
}

// SetOffer says what the machine offers from now on. What is reserved stays.
func (m *Room) SetOffer(o Offer) { m.offer = o }

// Reserve opens a place. Ask Fits first: a place that does not fit is recorded all the same.
func (m *Room) Reserve(r Requirement) {
	m.open[r.text]++
	m.add(r, 1)
}

// Free ends a place that was reserved so. If none was, it changes nothing.
func (m *Room) Free(r Requirement) {
	if m.open[r.text] == 0 {
		return
	}
	m.open[r.text]--
	if m.open[r.text] == 0 {
		delete(m.open, r.text)
	}
	m.add(r, -1)
}

// add counts the places of a requirement; n is 1 or -1.
func (m *Room) add(r Requirement, n int) {
	m.places += n
	if r.exclusive {
		m.alone += n
	}
	m.taken.memory += int64(n) * r.memory
	m.taken.cpus += n * r.cpus
	for _, d := range r.devices {
		m.taken.devices[d.name] += n * d.count
		if m.taken.devices[d.name] == 0 {
			delete(m.taken.devices, d.name)
		}
	}
}

// Open returns how many places are open.
func (m *Room) Open() int { return m.places }

// FreeMemoryMiB returns the memory that is not reserved, in MiB; 0 while a job has the machine for itself.
func (m *Room) FreeMemoryMiB() int64 {
	if m.alone > 0 {
		return 0
	}
	return max(m.offer.MemoryMiB-m.taken.memory, 0)
}

// FreeCPUs returns how many CPUs are not reserved; none while a job has the machine for itself.
func (m *Room) FreeCPUs() int {
	if m.alone > 0 {
		return 0
	}
	return max(m.offer.CPUs-m.taken.cpus, 0)
}

// Fits reports whether there is room for a place now. It looks at what other places take, and no other term: ask Lacks
// for these once.
func (m *Room) Fits(r Requirement) bool {
	if m.alone > 0 || m.places >= m.offer.slots() || r.exclusive && m.places > 0 {
		return false
	}
	for _, d := range r.devices {
		if d.count > m.offer.Devices[d.name]-m.taken.devices[d.name] {
			return false
		}
	}
	return (r.memory == 0 || r.memory <= m.offer.MemoryMiB-m.taken.memory) &&
		(r.cpus == 0 || r.cpus <= m.offer.CPUs-m.taken.cpus)
}

// Short returns what is missing for a place now; nothing if it fits.
func (m *Room) Short(r Requirement) (lacks []Lack) {
	switch {
	case m.alone > 0:
		return []Lack{{"exclusive", "is held by a job that runs alone", all}}
	case r.exclusive && m.places > 0:
		return []Lack{{"exclusive", "has " + phrase.Count(m.places, "job") + ", and this one runs alone", all}}
	case m.places >= m.offer.slots():
		lacks = append(lacks, Lack{"slots", "has no free slot", all})
	}
	return append(lacks, r.exceeds(m.offer, m.taken, "free ")...)
}
