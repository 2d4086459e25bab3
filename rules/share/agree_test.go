package share_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/share"
)

// world does everything to a tree and to the model, and compares them.
type world struct {
	*rapid.T
	tree *share.Tree
	// twin is told the same, and is never restored.
	twin   *share.Tree
	model  *model
	places []place
}

// place is a job that runs.
type place struct {
	leaf    share.Leaf
	waiting []events.Tier
}

var (
	someQueues   = []events.QueueName{"", "a", "b", "c", "d", "e", "f"}
	someAccounts = []events.AccountName{"", "a", "b", "z"}
)

// The tree does in any world what the rules say, and keeps what they need and no more.
func TestTreeAgreesWithTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{T: t, tree: share.New(), twin: share.New(), model: newModel()}
		steps := rapid.SampledFrom([][]int{nil, nil, {0, 0, 4, 12, 12, 14}}).Draw(t, "kind")
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			if len(steps) == 0 {
				w.step(rapid.IntRange(0, 15).Draw(t, "step"))
			} else {
				w.step(rapid.SampledFrom(steps).Draw(t, "step"))
			}
			// To say how two images differ costs much more than to see that they are equal.
			image, twin, nodes := w.tree.Image(), w.twin.Image(), w.model.image()
			if !reflect.DeepEqual(twin, image) {
				t.Fatalf("images (-never restored +tree):\n%s", gocmp.Diff(twin, image))
			}
			if !slices.Equal(nodes, image.Nodes) {
				t.Fatalf("nodes (-model +tree):\n%s", gocmp.Diff(nodes, image.Nodes))
			}
			for i, tier := range allTiers {
				if got, want := image.Tiers[i].Owed, w.model.owed[tier]; got != want {
					t.Fatalf("%s is owed %d, want %d", tier, got, want)
				}
			}
		}
	})
}

func (w *world) both(say func(*share.Tree)) {
	say(w.tree)
	say(w.twin)
}

func (w *world) leaf() share.Leaf {
	return share.Leaf{
		Tier:    rapid.SampledFrom(allTiers).Draw(w.T, "tier"),
		Queue:   rapid.SampledFrom(someQueues).Draw(w.T, "queue"),
		Account: rapid.SampledFrom(someAccounts).Draw(w.T, "account"),
	}
}

func (w *world) wish() wish {
	return wish{
		share.Class(rapid.IntRange(0, 3).Draw(w.T, "class")),
		share.Item{
			Level: int8(rapid.IntRange(1, 2).Draw(w.T, "level")), Keys: [3]int64{int64(rapid.IntRange(0, 2).Draw(w.T, "key"))},
			ID: events.RequestID(rapid.SampledFrom([]string{"r1", "r2", "r3"}).Draw(w.T, "id")),
		},
	}
}

func (w *world) step(kind int) {
	switch kind {
	case 0, 1, 2, 3:
		l, i := w.leaf(), w.wish()
		for range rapid.IntRange(1, 3).Draw(w.T, "jobs") {
			w.both(func(t *share.Tree) { t.Add(l, i.class, i.item) })
			w.model.add(l, i)
		}
	case 4, 5, 6, 7:
		w.dispatch()
	case 8, 9:
		w.end()
	case 10:
		l, i := w.leaf(), w.wish()
		w.both(func(t *share.Tree) { t.Remove(l, i.class, i.item) })
		w.model.remove(l, i)
	case 11:
		l := w.leaf()
		if rapid.Bool().Draw(w.T, "held") {
			w.both(func(t *share.Tree) { t.Hold(l) })
			w.model.hold(l)
		} else {
			w.both(func(t *share.Tree) { t.Unhold(l) })
			w.model.unhold(l)
		}
	case 12:
		w.set()
	case 13:
		w.restore()
	case 14:
		w.compare()
	case 15:
		w.stray()
	}
}

func (w *world) dispatch() {
	expect := func(c share.Choice) int64 { return int64(len(c.Leaf.Account)+len(c.Item.ID)) + int64(c.Class)*1000 }
	classes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) share.Class { return share.Class(rapid.IntRange(0, 4).Draw(t, "class")) }), 0, 4).Draw(w.T, "classes")
	got, ok := w.tree.Pick(expect, classes...)
	want, wanted := w.model.pick(expect, classes)
	why := got.Why
	got.Why = ""
	if diff := gocmp.Diff(want, got); diff != "" || ok != wanted {
		w.Fatalf("pick of %v (-model +tree), %v and %v:\n%s", classes, wanted, ok, diff)
	}
	if !ok {
		return
	}
	if why == "" {
		w.Fatalf("no reason for %+v", got)
	}
	charge := expect(got)
	w.both(func(t *share.Tree) { t.Serve(got.Leaf, charge, got.Waiting) })
	w.model.serve(got.Leaf, charge, got.Waiting)
	w.both(func(t *share.Tree) { t.Remove(got.Leaf, got.Class, got.Item) })
	w.model.remove(got.Leaf, wish{got.Class, got.Item})
	w.places = append(w.places, place{got.Leaf, got.Waiting})
}

func (w *world) end() {
	if len(w.places) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.places)-1).Draw(w.T, "place")
	p := w.places[i]
	w.correct(p)
	if rapid.Bool().Draw(w.T, "ends") {
		w.places = slices.Delete(w.places, i, i+1)
		w.both(func(t *share.Tree) { t.End(p.leaf) })
		w.model.end(p.leaf)
	}
}

func (w *world) correct(p place) {
	delta := int64(rapid.IntRange(-4000, 4000).Draw(w.T, "delta"))
	w.both(func(t *share.Tree) { t.Correct(p.leaf, delta, p.waiting...) })
	w.model.correct(p.leaf, delta, p.waiting)
}

// set changes the settings; cycles of queues and queues that are too deep are among them.
func (w *world) set() {
	weight, limit := rapid.SampledFrom([]int{0, 1, 3, 50, 1000}).Draw(w.T, "weight"), rapid.IntRange(0, 3).Draw(w.T, "limit")
	switch rapid.IntRange(0, 3).Draw(w.T, "setting") {
	case 0:
		p := share.Policy{
			FloorDefault: rapid.IntRange(0, 500).Draw(w.T, "default"), FloorIdle: rapid.IntRange(0, 400).Draw(w.T, "idle"),
			LagMS: int64(rapid.IntRange(0, 3000).Draw(w.T, "lag")),
		}
		w.both(func(t *share.Tree) { t.SetPolicy(p) })
		w.model.setPolicy(p)
	case 1:
		name := rapid.SampledFrom(someAccounts).Draw(w.T, "account")
		w.both(func(t *share.Tree) { t.SetAccount(name, share.Account{Weight: weight, MaxRunning: limit}) })
		w.model.accounts[name] = share.Account{Weight: weight, MaxRunning: limit}
	default:
		name := rapid.SampledFrom(someQueues).Draw(w.T, "queue")
		q := share.Queue{Weight: weight, MaxRunning: limit, Paused: rapid.IntRange(0, 4).Draw(w.T, "paused") == 0}
		if name != "" {
			q.Parent = rapid.SampledFrom(someQueues).Draw(w.T, "parent")
		}
		w.both(func(t *share.Tree) { t.SetQueue(name, q) })
		w.model.setQueue(name, q)
	}
}

// restore goes on with a copy of the tree that was stored, to which the jobs come back in any order.
func (w *world) restore() {
	image := w.tree.Image()
	text, err := json.Marshal(image)
	if err != nil {
		w.Fatal(err)
	}
	var read share.Image
	if err := json.Unmarshal(text, &read); err != nil {
		w.Fatal(err)
	}
	w.tree = share.Restore(read)
	for l, jobs := range w.model.jobs { // in a random order
		for _, i := range slices.Collect(maps.Keys(jobs)) {
			for range jobs[i] {
				w.tree.Add(l, i.class, i.item)
			}
		}
	}
	if diff := gocmp.Diff(image, w.tree.Image()); diff != "" {
		w.Fatalf("images (-before +after):\n%s", diff)
	}
}

func (w *world) compare() {
	a := w.leaf()
	b := a
	b.Account = rapid.SampledFrom(someAccounts).Draw(w.T, "other")
	if got, want := w.tree.Before(a, b), w.model.before(a, b); got != want {
		w.Fatalf("%v before %v: %d, want %d", a, b, got, want)
	}
}

// stray says what no careful caller says: the tree stays sound all the same.
func (w *world) stray() {
	l := w.leaf()
	switch rapid.IntRange(0, 2).Draw(w.T, "stray") {
	case 0:
		w.both(func(t *share.Tree) { t.Serve(l, 70, nil) })
		w.model.serve(l, 70, nil)
		w.places = append(w.places, place{leaf: l})
	case 1:
		w.correct(place{l, allTiers})
	case 2:
		if w.model.running[l] == 0 {
			w.both(func(t *share.Tree) { t.End(l) })
		}
	}
}
