package share_test

import (
	"container/heap"
	"fmt"
	"testing"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/share"
)

const minute = 60_000

// site is a small farm: a tree, machines, and jobs with a real length.
type site struct {
	*share.Tree
	now    int64
	busy   ends
	idle   []int
	serves [][]share.Class
	// expect is what each job is charged at first.
	expect int64
	// length is the real length of the jobs of an account.
	length map[events.AccountName]int64
	// had is the machine time of each account.
	had   map[events.AccountName]int64
	picks []share.Choice
}

type end struct {
	at      int64
	machine int
	leaf    share.Leaf
	length  int64
	waiting []events.Tier
}

type ends []end

func (h ends) Len() int           { return len(h) }
func (h ends) Less(i, k int) bool { return h[i].at < h[k].at }
func (h ends) Swap(i, k int)      { h[i], h[k] = h[k], h[i] }
func (h *ends) Push(x any)        { *h = append(*h, x.(end)) }
func (h *ends) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}

func newSite(machines int) *site {
	s := &site{Tree: share.New(), expect: minute, length: map[events.AccountName]int64{}, had: map[events.AccountName]int64{}}
	for i := range machines {
		s.idle, s.serves = append(s.idle, i), append(s.serves, []share.Class{0})
	}
	return s
}

func (s *site) wait(l share.Leaf, c share.Class, jobs int) {
	for range jobs {
		s.Add(l, c, share.Item{ID: events.RequestID(l.Account)})
	}
}

// run starts jobs until the time is over or nothing is left. Each job that starts waits again if it is endless.
func (s *site) run(until int64, endless bool) {
	for {
		for i := 0; i < len(s.idle); i++ {
			if s.start(s.idle[i], endless) {
				s.idle = append(s.idle[:i], s.idle[i+1:]...)
				i--
			}
		}
		if len(s.busy) == 0 || s.busy[0].at > until {
			return
		}
		e := heap.Pop(&s.busy).(end)
		s.now = e.at
		s.Correct(e.leaf, e.length-s.expect, e.waiting...)
		s.End(e.leaf)
		s.had[e.leaf.Account] += e.length
		s.idle = append(s.idle, e.machine)
	}
}

func (s *site) start(machine int, endless bool) bool {
	c, ok := s.Pick(func(share.Choice) int64 { return s.expect }, s.serves[machine]...)
	if !ok {
		return false
	}
	s.picks = append(s.picks, c)
	s.Serve(c.Leaf, s.expect, c.Waiting)
	if endless {
		s.Add(c.Leaf, c.Class, c.Item)
	}
	s.Remove(c.Leaf, c.Class, c.Item)
	length := s.length[c.Leaf.Account]
	if length == 0 {
		length = s.expect
	}
	heap.Push(&s.busy, end{s.now + length, machine, c.Leaf, length, c.Waiting})
	return true
}

func own(a events.AccountName) share.Leaf {
	return share.Leaf{Tier: events.TierDefault, Queue: events.QueueName(a), Account: a}
}

func in(q events.QueueName, a events.AccountName) share.Leaf {
	return share.Leaf{Tier: events.TierDefault, Queue: q, Account: a}
}

// next dispatches one job on a machine that is always free.
func (s *site) next(t failer) share.Choice {
	t.Helper()
	c, ok := s.Pick(func(share.Choice) int64 { return s.expect }, 0)
	if !ok {
		t.Fatalf("nothing waits")
	}
	s.Serve(c.Leaf, s.expect, c.Waiting)
	s.Remove(c.Leaf, c.Class, c.Item)
	s.End(c.Leaf)
	return c
}

// failer is a test or a property of one.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func TestNewcomerIsNext(t *testing.T) {
	for _, others := range []int{0, 4} {
		for _, leaf := range []func(events.AccountName) share.Leaf{own, func(a events.AccountName) share.Leaf { return in("shared", a) }} {
			for _, k := range []int{0, 1, 7, 63, 500} {
				t.Run(fmt.Sprintf("others=%d/queue=%s/k=%d", others, leaf("own").Queue, k), func(t *testing.T) {
					s := newSite(1)
					for i := range others {
						name := events.AccountName(fmt.Sprint("o", i))
						s.SetAccount(name, share.Account{Weight: 5 + 20*i})
						s.wait(leaf(name), 0, 10_000)
					}
					s.wait(leaf("u1"), 0, 10_000)
					fresh := map[events.AccountName]bool{"u1": true}
					for i := range others {
						fresh[events.AccountName(fmt.Sprint("o", i))] = true
					}
					for n := 0; n < k; {
						got := s.next(t).Leaf.Account
						delete(fresh, got)
						if got == "u1" {
							n++
						}
					}
					s.wait(leaf("u2"), 0, 1)
					if k >= 7 && len(fresh) > 0 {
						t.Fatalf("after %d jobs of u1 none of %v", k, fresh)
					}
					within := 1 + len(fresh) // others that had no turn yet are as new
					for range within {
						if s.next(t).Leaf.Account == "u2" {
							return
						}
					}
					t.Errorf("u2 is not among the next %d", within)
				})
			}
		}
	}
}

func TestNewcomersAreNextTogether(t *testing.T) {
	for _, m := range []int{2, 10, 100} {
		s := newSite(1)
		s.wait(own("u1"), 0, 10_000)
		for range 63 {
			s.next(t)
		}
		for i := range m {
			s.wait(own(events.AccountName(fmt.Sprint("n", i))), 0, 3)
		}
		seen := map[events.AccountName]bool{}
		for range m {
			seen[s.next(t).Leaf.Account] = true
		}
		if len(seen) != m || seen["u1"] {
			t.Errorf("%d newcomers: the next %d dispatches are of %v", m, m, seen)
		}
	}
}

func TestWeightsShareEqualJobs(t *testing.T) {
	weights := []int{50, 30, 20, 10, 10}
	s := newSite(1)
	sum := 0
	for i, w := range weights {
		name := events.AccountName(fmt.Sprint("u", i))
		s.SetAccount(name, share.Account{Weight: w})
		s.wait(own(name), 0, 1200)
		sum += w
	}
	had := make([]int, len(weights))
	for n := 1; n <= 1200; n++ {
		had[s.next(t).Leaf.Account[1]-'0']++
		for i, w := range weights {
			if off := float64(had[i]) - float64(n*w)/float64(sum); off > 2 || off < -2 {
				t.Fatalf("after %d jobs u%d is %.2f jobs off", n, i, off)
			}
		}
	}
	t.Log(had)
}

func TestLongJobsPayForTheirTime(t *testing.T) {
	for _, machines := range []int{1, 10} {
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			s := newSite(machines)
			s.length["long"], s.length["short"] = 60*minute, minute
			s.wait(own("long"), 0, 20)
			s.wait(own("short"), 0, 20)
			s.run(1000*60*minute, true)
			part := float64(s.had["long"]) / float64(s.had["long"]+s.had["short"])
			if part < 0.48 || part > 0.52 {
				t.Errorf("long jobs have %.3f of the time", part)
			}
			t.Logf("%.4f", part)
		})
	}
}

func TestTiersComeInTheirOrder(t *testing.T) {
	s := newSite(1)
	for tier, jobs := range map[events.Tier]int{events.TierIdle: 5, events.TierDefault: 100, events.TierVIP: 3} {
		s.wait(share.Leaf{Tier: tier, Account: "u"}, 0, jobs)
	}
	for i := range 108 {
		want := events.TierDefault
		if i < 3 {
			want = events.TierVIP
		} else if i >= 103 {
			want = events.TierIdle
		}
		if got := s.next(t); got.Leaf.Tier != want {
			t.Fatalf("job %d is %s (%s), want %s", i, got.Leaf.Tier, got.Why, want)
		}
	}
}

func TestFloorsWhileMoreUrgentWorkIsEndless(t *testing.T) {
	s := newSite(1)
	for _, tier := range []events.Tier{events.TierVIP, events.TierDefault, events.TierIdle} {
		s.wait(share.Leaf{Tier: tier, Account: "u"}, 0, 10)
	}
	s.run(20_000*minute, true)
	had := map[events.Tier]float64{}
	for _, c := range s.picks {
		had[c.Leaf.Tier] += 100 / float64(len(s.picks))
	}
	if d, i := had[events.TierDefault], had[events.TierIdle]; d < 9 || d > 11 || i < 0.4 || i > 0.6 {
		t.Errorf("default has %.2f %%, idle %.2f %%", d, i)
	}
	t.Log(had)
}

func TestHighComesBeforeOwnNormalJobs(t *testing.T) {
	s := newSite(1)
	for i := range 1000 {
		s.Add(own("u"), 0, share.Item{Level: 2, Keys: [3]int64{int64(i)}, ID: events.RequestID(fmt.Sprint(i))})
	}
	s.next(t)
	s.Add(own("u"), 0, share.Item{Level: 1, Keys: [3]int64{5000}, ID: "urgent"})
	if got := s.next(t); got.Item.ID != "urgent" {
		t.Errorf("next is %+v", got)
	}
	if got := s.next(t); got.Item.ID != "1" {
		t.Errorf("then comes %+v", got)
	}
}

func TestOneFittingMachineOfFour(t *testing.T) {
	s := newSite(4)
	s.serves[0] = []share.Class{0, 1}
	s.wait(own("all"), 0, 10)
	s.wait(own("one"), 1, 10)
	s.run(1000*minute, true)
	part := float64(s.had["one"]) / float64(s.had["one"]+s.had["all"])
	if part < 0.24 {
		t.Errorf("the account that fits one machine has %.3f of the time", part)
	}
	t.Logf("%.4f", part)
}

func TestLagBoundsCatchingUp(t *testing.T) {
	s := newSite(1)
	s.SetPolicy(share.Policy{LagMS: 20 * minute})
	s.wait(own("here"), 0, 10)
	s.wait(own("away"), 1, 10)
	s.run(10_000*minute, true)
	s.serves[0] = []share.Class{0, 1}
	from := len(s.picks)
	s.run(s.now+1000*minute, true)
	row := 0
	for _, c := range s.picks[from:] {
		if c.Leaf.Account != "away" {
			break
		}
		row++
	}
	if row < 20 || row > 22 {
		t.Errorf("%d jobs in a row, want the lag of 20 and one or two more", row)
	}
	t.Log(row)
}

func TestWeightCountsAtTheNextDecision(t *testing.T) {
	s := newSite(1)
	s.wait(own("a"), 0, 2000)
	s.wait(own("b"), 0, 2000)
	for range 100 {
		s.next(t)
	}
	s.SetAccount("a", share.Account{Weight: 30})
	had := 0
	for n := 1; n <= 400; n++ {
		if s.next(t).Leaf.Account == "a" {
			had++
		}
		if off := float64(had) - 0.75*float64(n); off > 2 || off < -2 {
			t.Fatalf("after %d jobs a is %.2f off", n, off)
		}
	}
}
