package share_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/share"
)

// farm is a tree whose jobs have any length, known beforehand.
type farm struct {
	*rapid.T
	*share.Tree
	most int64
}

func newFarm(t *rapid.T) *farm {
	return &farm{t, share.New(), int64(rapid.IntRange(1, 1_000_000).Draw(t, "most"))}
}

// turn dispatches one job of any length. It stays in the tree, so that its account is endless.
func (f *farm) turn(classes ...share.Class) (share.Leaf, int64) {
	charge := int64(rapid.IntRange(0, int(f.most)).Draw(f.T, "charge"))
	c, ok := f.Pick(func(share.Choice) int64 { return charge }, classes...)
	if !ok {
		f.Fatal("nothing waits")
	}
	f.Serve(c.Leaf, charge, c.Waiting)
	return c.Leaf, charge
}

func (f *farm) weigh(a events.AccountName) int64 {
	w := rapid.IntRange(1, 1000).Draw(f.T, "weight")
	f.SetAccount(a, share.Account{Weight: w})
	return int64(w)
}

func (f *farm) wait(l share.Leaf) { f.Add(l, 0, share.Item{ID: "r"}) }

// Bound 1: m newcomers have their turn within m, and others that had no turn yet are as new.
func TestBoundOfNewcomers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFarm(t)
		leaf := rapid.SampledFrom([]func(events.AccountName) share.Leaf{own, func(a events.AccountName) share.Leaf { return in("q", a) }}).Draw(t, "queues")
		fresh := map[share.Leaf]bool{}
		for i := range rapid.IntRange(1, 6).Draw(t, "others") {
			l := leaf(events.AccountName(fmt.Sprint("o", i)))
			f.weigh(l.Account)
			f.wait(l)
			fresh[l] = true
		}
		for range rapid.IntRange(0, 100).Draw(t, "turns") {
			l, _ := f.turn(0)
			delete(fresh, l)
		}
		for i := range rapid.IntRange(1, 6).Draw(t, "newcomers") {
			l := leaf(events.AccountName(fmt.Sprint("n", i)))
			f.weigh(l.Account)
			f.wait(l)
			fresh[l] = true
		}
		for range len(fresh) {
			l, _ := f.turn(0)
			if !fresh[l] {
				t.Fatalf("%v comes before the new %v", l, fresh)
			}
			delete(fresh, l)
		}
	})
}

// Bound 2: what two siblings have had differs by no more than a job of each, for their weights.
func TestBoundOfSiblings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFarm(t)
		n := rapid.IntRange(2, 6).Draw(t, "siblings")
		weights, had, leaves := make([]int64, n), make([]int64, n), make([]share.Leaf, n)
		for i := range n {
			leaves[i] = in("q", events.AccountName(fmt.Sprint("u", i)))
			weights[i] = f.weigh(leaves[i].Account)
			f.wait(leaves[i])
		}
		for turn := range rapid.IntRange(1, 200).Draw(t, "turns") {
			l, charge := f.turn(0)
			had[l.Account[1]-'0'] += charge
			for i := range n {
				for k := range i {
					a, b := float64(weights[i]), float64(weights[k])
					off := float64(had[i])/a - float64(had[k])/b
					rounding := float64(turn+1) / 1024
					if bound := float64(f.most)/a + float64(f.most)/b + rounding; off > bound || off < -bound {
						t.Fatalf("siblings are %f apart, more than %f", off, bound)
					}
				}
			}
		}
	})
}

// Bound 3: a child that nothing fitted for long catches up by the lag and a job of each, however long it was.
func TestBoundOfCatchingUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFarm(t)
		lag := int64(rapid.IntRange(0, 10_000_000).Draw(t, "lag"))
		f.SetPolicy(share.Policy{LagMS: lag})
		here, away := f.weigh("here"), f.weigh("away")
		f.wait(own("here"))
		f.Add(own("away"), 1, share.Item{ID: "r"})
		for range rapid.IntRange(0, 300).Draw(t, "turns") {
			f.turn(0)
		}
		var row float64
		bound := float64(lag) + float64(f.most)*(1+float64(away)/float64(here)) + 1
		rounding := float64(away) / 1024
		for range 1000 {
			l, charge := f.turn(0, 1)
			if l.Account != "away" {
				break
			}
			row += float64(charge)
			bound += rounding
			if row > bound {
				t.Fatalf("%f ms in a row, more than %f", row, bound)
			}
		}
	})
}

// Bound 4: a tier with work gets its floor in every interval, less one job and what the tiers are owed while it comes. If
// both floors are owed, idle also waits for the jobs of default.
func TestBoundOfFloors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFarm(t)
		p := share.Policy{FloorDefault: rapid.IntRange(0, 500).Draw(t, "default"), FloorIdle: rapid.IntRange(0, 400).Draw(t, "idle")}
		f.SetPolicy(p)
		for _, tier := range allTiers {
			f.wait(share.Leaf{Tier: tier})
		}
		floors := map[events.Tier]float64{events.TierDefault: float64(p.FloorDefault) / 1000, events.TierIdle: float64(p.FloorIdle) / 1000}
		over, most := map[events.Tier]float64{}, map[events.Tier]float64{}
		for range rapid.IntRange(1, 400).Draw(t, "turns") {
			l, charge := f.turn(0)
			for tier, floor := range floors {
				over[tier] -= floor * float64(charge)
				if l.Tier == tier {
					over[tier] += float64(charge)
				}
				most[tier] = max(most[tier], over[tier])
				jobs := 2.0
				if tier == events.TierIdle && p.FloorDefault > 0 {
					jobs = 3
				}
				if short := most[tier] - over[tier]; short > jobs*float64(f.most)+1 {
					t.Fatalf("%s is %f jobs short of its floor", tier, short/float64(f.most))
				}
			}
		}
	})
}

// Bound 4: the first job of a tier starts after 1/floor + 1 charges like its own.
func TestBoundOfTheFirstIdleJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSite(1)
		floor := rapid.IntRange(1, 500).Draw(t, "floor")
		s.SetPolicy(share.Policy{FloorIdle: floor})
		s.wait(share.Leaf{Tier: events.TierVIP}, 0, 3000)
		for range rapid.IntRange(0, 300).Draw(t, "before") {
			s.next(t)
		}
		s.wait(share.Leaf{Tier: events.TierIdle}, 0, 1)
		for range 1000/floor + 2 {
			if s.next(t).Leaf.Tier == events.TierIdle {
				return
			}
		}
		t.Fatalf("the idle job waits for more than %d others", 1000/floor+1)
	})
}
