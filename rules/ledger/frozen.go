package ledger

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/request"
)

// Frozen is a ledger as it was at one moment. The ledger may go on while others make a snapshot of it.
type Frozen struct {
	// rest is the image without lists and jobs. It is bytes, because the folds change what is in it.
	rest  []byte
	lists lists
	jobs  []Job
	past  frozenPast
}

// lists are those fields of an image that grow with the history of a farm. The folds replace what is in them, and never change it, so
// a copy of the map holds still.
type lists struct {
	Versions            map[events.Subject]events.Seq
	Requests            map[events.RequestID]*request.Request
	ByTag               map[ArtifactKey]events.RequestID
	Artifacts           map[ArtifactKey]Artifact
	Roots               map[events.RequestID]string
	Open, Graphed       map[events.RequestID]int
	Withdrawn, Amending map[events.RequestID]bool
	Torn, Backfilled    map[events.RequestID]bool
	PastImage           pastImage
}

// Freeze returns the ledger as it is now. That takes a small part of the time that a snapshot takes.
func (l *Ledger) Freeze() (Frozen, error) {
	f := Frozen{lists: lists{
		Versions: maps.Clone(l.Versions), Requests: maps.Clone(l.Requests), ByTag: maps.Clone(l.ByTag), Artifacts: maps.Clone(l.Artifacts),
		Roots: maps.Clone(l.Roots), Open: maps.Clone(l.Open), Graphed: maps.Clone(l.Graphed), Withdrawn: maps.Clone(l.Withdrawn),
		Amending: maps.Clone(l.Amending), Torn: maps.Clone(l.Torn), Backfilled: maps.Clone(l.Backfilled),
	}, past: l.Past.freeze()}
	f.jobs = make([]Job, 0, len(l.Jobs))
	for _, j := range l.Jobs {
		f.jobs = append(f.jobs, *j)
	}
	small := *l
	small.Versions, small.Requests, small.ByTag, small.Artifacts, small.Roots, small.Open, small.Graphed = nil, nil, nil, nil, nil, nil, nil
	small.Withdrawn, small.Amending, small.Torn, small.Backfilled = nil, nil, nil, nil
	var err error
	if f.rest, err = json.Marshal(small.image()); err != nil {
		return f, fmt.Errorf("make a snapshot of the ledger: %w", err)
	}
	return f, nil
}

// image returns the form of a ledger in a snapshot, without its jobs.
func (l *Ledger) image() image {
	i := image{Ledger: l, TreeImage: l.Tree.Image()}
	i.Opened, i.Copied = l.reader.Place()
	slices.Sort(i.Copied)
	for _, name := range l.LaneOrder {
		i.LaneImages = append(i.LaneImages, laneImage{name, l.Lanes[name]})
	}
	for _, s := range slices.SortedFunc(maps.Keys(l.Lengths), compareSorts) {
		i.LengthImages = append(i.LengthImages, lengthImage{s, l.Lengths[s]})
	}
	return i
}

// Snapshot returns the ledger as bytes. Equal ledgers give equal bytes.
//
// The fields of lists and jobs stand in them twice: empty in the rest, and behind it as they are. A reader of JSON takes the later one.
func (f Frozen) Snapshot() ([]byte, error) {
	var err error
	if f.lists.PastImage, err = f.past.image(); err != nil {
		return nil, fmt.Errorf("make a snapshot of the jobs that have ended: %w", err)
	}
	large, err := json.Marshal(f.lists)
	if err != nil {
		return nil, fmt.Errorf("make a snapshot of the ledger: %w", err)
	}
	const aJob = 512 // bytes, about
	data := slices.Grow(f.rest[:len(f.rest)-1:len(f.rest)-1], len(large)+aJob*len(f.jobs))
	data = append(append(data, ','), large[1:len(large)-1]...)
	data = append(data, `,"JobImages":{`...)
	slices.SortFunc(f.jobs, func(a, b Job) int { return cmp.Compare(a.ID, b.ID) })
	for i := range f.jobs {
		j := &f.jobs[i]
		if i > 0 {
			data = append(data, ',')
		}
		id, err := json.Marshal(j.ID)
		if err != nil {
			return nil, fmt.Errorf("make a snapshot of job %s: %w", j.ID, err)
		}
		job, err := json.Marshal(jobImage{j.Spec(), *j.course, j.wantedBy()})
		if err != nil {
			return nil, fmt.Errorf("make a snapshot of job %s: %w", j.ID, err)
		}
		data = append(append(append(data, id...), ':'), job...)
	}
	return append(data, "}}"...), nil
}
