package ledger

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/queue"
	"github.com/tachobench/tacho/rules/share"
)

// Version is the version of the folds. Increase it when they make another ledger from the same log. A snapshot of
// another version is not read.
const Version = 13

// image is the form of a ledger in a snapshot, without the fields that are made from the others.
type image struct {
	*Ledger
	// Opened and Copied are the place of the reader.
	Opened events.Seq
	Copied []events.CollectorName
	// LaneImages and LengthImages are lists, because JSON cannot have their keys as keys.
	LaneImages   []laneImage
	LengthImages []lengthImage
	PastImage    pastImage
	TreeImage    share.Image
	JobImages    map[events.JobID]jobImage
}

type laneImage struct {
	Name events.Lane
	*Lane
}

type jobImage struct {
	Spec events.JobSpec
	course
	Wanters []Wanter
}

type lengthImage struct {
	Sort queue.Sort
	Took []time.Duration
}

// Snapshot returns the ledger as bytes. Equal ledgers give equal bytes.
func (l *Ledger) Snapshot() ([]byte, error) {
	frozen, err := l.Freeze()
	if err != nil {
		return nil, err
	}
	return frozen.Snapshot()
}

func compareSorts(a, b queue.Sort) int {
	return cmp.Or(cmp.Compare(a.Suite, b.Suite), cmp.Compare(a.Lane.Target, b.Lane.Target), cmp.Compare(a.Lane.Set, b.Lane.Set),
		cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Backend, b.Backend), cmp.Compare(a.Profile, b.Profile))
}

// Restore returns the ledger of a snapshot with this program's Shape. An error says what is wrong with the snapshot. It
// obeys no park before Obey is called; Parks says which ones it has obeyed.
func Restore(data []byte) (*Ledger, error) {
	i := image{Ledger: New()}
	decode := json.NewDecoder(bytes.NewReader(data))
	decode.DisallowUnknownFields()
	if err := decode.Decode(&i); err != nil {
		return nil, fmt.Errorf("read a snapshot of the ledger: %w", err)
	}
	if _, err := decode.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read a snapshot of the ledger: something follows it")
	}
	l := i.Ledger
	l.reader = *events.ReadFrom(i.Opened, i.Copied...)
	for _, lane := range i.LaneImages {
		if lane.Lane == nil {
			return nil, fmt.Errorf("read a snapshot of the ledger: lane %s is empty", lane.Name)
		}
		lane.class, lane.builds = share.Class(len(l.Lanes)), l.knowsBuilds(lane.Lane)
		l.Lanes[lane.Name] = lane.Lane
		l.LaneOrder = append(l.LaneOrder, lane.Name)
	}
	l.restoreMachines()
	for _, s := range i.LengthImages {
		l.Lengths[s.Sort] = s.Took
	}
	for digest, d := range l.Definitions {
		if d.Digest() != cmp.Or(l.Misnamed[digest], digest) {
			return nil, fmt.Errorf("read a snapshot of the ledger: definitions %.12s do not match their digest", digest)
		}
	}
	var err error
	if l.Past, err = i.PastImage.restore(); err != nil {
		return nil, fmt.Errorf("read a snapshot of the ledger: %w", err)
	}
	for name, c := range l.Collectors {
		note(l.Blamed, name, len(c.Failed) > 0 || c.Unready > 0)
	}
	for id, known := range i.JobImages {
		j := l.names.job(known.Spec, &known.course)
		j.Collector = events.CollectorName(l.names.once(string(j.Collector)))
		j.resting = j.State.Terminal() && !l.OnLane(j)
		for _, w := range known.Wanters {
			w.Request = events.RequestID(l.names.once(string(w.Request)))
			l.hold(j, w)
		}
		l.Jobs[id] = j
	}
	for id, r := range l.Requests {
		if r == nil {
			return nil, fmt.Errorf("read a snapshot of the ledger: request %s is empty", id)
		}
		l.sort(r)
		l.Tags.Enter(r.Artifact.Suite, r.Artifact.Tag, r.State)
	}
	if l.Shared {
		l.Front = nil
	}
	for _, r := range l.Pending {
		l.front(r, r)
	}
	for id := range l.Running {
		l.noteDue(id)
		l.noteLate(id)
	}
	l.restoreGraphs()
	l.restoreOutputs()
	for _, c := range l.Classes {
		l.restoreLine(c.Line)
	}
	for _, lane := range l.Lanes {
		l.restoreLine(lane.Line)
	}
	l.Tree = share.Restore(i.TreeImage)
	l.sit(l.seatsOf(slices.Collect(maps.Keys(l.Jobs))))
	return l, nil
}

// restoreLine notes which jobs stand in a line.
func (l *Ledger) restoreLine(line Line) {
	for _, ids := range line.Queued {
		for _, id := range ids {
			if j, ok := l.Jobs[id]; ok {
				j.lined = true
				l.noteAlike(j)
			}
		}
	}
}

// Shape names the form of a snapshot and the version of the folds, as a token. It is made from the types, so a new
// field makes a new shape.
func Shape() string {
	h := sha256.New()
	describe(h, reflect.TypeFor[image](), map[reflect.Type]bool{})
	return fmt.Sprintf("v%d-%s", Version, hex.EncodeToString(h.Sum(nil)[:6]))
}

// describe writes a type with all types inside it.
func describe(w io.Writer, t reflect.Type, seen map[reflect.Type]bool) {
	fmt.Fprintf(w, "%s %s{", t, t.Kind())
	if seen[t] {
		return
	}
	seen[t] = true
	// The other kinds have no types inside.
	//exhaustive:ignore
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			fmt.Fprintf(w, "%s %s ", f.Name, f.Tag)
			describe(w, f.Type, seen)
		}
	case reflect.Map:
		describe(w, t.Key(), seen)
		describe(w, t.Elem(), seen)
	case reflect.Slice, reflect.Array, reflect.Pointer:
		describe(w, t.Elem(), seen)
	}
	fmt.Fprint(w, "}")
}
