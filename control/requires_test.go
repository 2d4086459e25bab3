package control

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
	"github.com/tachobench/tacho/rules/suite"
)

// holderOf knows the holder of one key.
func holderOf(key string, name events.CollectorName) func(context.Context, string) (events.CollectorName, error) {
	return func(_ context.Context, k string) (events.CollectorName, error) {
		if k == key {
			return name, nil
		}
		return "", nil
	}
}

// counted counts the reads of last events.
type counted struct {
	eventlog.Log
	lasts int
}

func (l *counted) Last(ctx context.Context, subject events.Subject) (events.Recorded, bool, error) {
	l.lasts++
	return l.Log.Last(ctx, subject)
}

// matched is a farm whose suite has a kind of matched jobs beside one of its own lanes.
func matched(t *testing.T, offers ...match.Offer) *Control {
	t.Helper()
	c, _ := farm(t)
	d := definitions()
	d.Kinds = append(d.Kinds, suite.Kind{Name: "build", Lanes: suite.LanesAny, Requires: []string{"memory=40g", "pool=builders"}, Shared: true})
	if _, err := c.Publish(t.Context(), by, d); err != nil {
		t.Fatal(err)
	}
	c.Offers = func(context.Context) ([]match.Offer, error) { return offers, nil }
	return c
}

func builder(name string, memory int64) match.Offer {
	return match.Offer{Machine: name, Pool: "builders", OS: "linux", Arch: "amd64", MemoryMiB: memory << 10, Slots: 2}
}

func requiring(tag events.Tag, terms ...string) NewRequest {
	return NewRequest{Suite: "small", Kind: events.Master, Tag: tag, Requires: terms}
}

func TestRequirementsAreRecordedInOneForm(t *testing.T) {
	c := matched(t, builder("eider-3", 64))
	r, _, err := c.CreateRequest(t.Context(), by, requiring("c1", "memory=8192m", "machine=eider-3,eider-2", "memory=50"))
	want := []string{"machine=eider-2,eider-3", "memory=50g"}
	if diff := cmp.Diff(want, r.Requires()); diff != "" || err != nil {
		t.Error(diff, err)
	}
	history, err := c.Log.Read(t.Context(), events.RequestSubject(r.ID))
	if err != nil || len(history) != 1 || !cmp.Equal(history[0].Fact.(events.RequestCreated).Requires, want) {
		t.Errorf("%+v %v", history, err)
	}
	for _, again := range []NewRequest{requiring("c1", "memory=50g", "machine=eider-2,eider-3"), requiring("c1")} {
		if _, answer, err := c.CreateRequest(t.Context(), by, again); err != nil || !answer.Existed {
			t.Errorf("%+v %v", answer, err)
		}
	}
	_, _, err = c.CreateRequest(t.Context(), by, requiring("c1", "memory=60g"))
	refused(t, err, Conflict, "requirements memory=60g instead of machine=eider-2,eider-3 memory=50g")
	made, err := c.CreateRequests(t.Context(), by, Batch{Requests: []NewRequest{requiring("c2", "memory=51200m"), requiring("c3")}})
	if err != nil || !cmp.Equal(made[0].Request.Requires(), []string{"memory=50g"}) || made[1].Request.Requires() != nil {
		t.Errorf("%+v %v", made, err)
	}
}

func TestAQueueMayRequire(t *testing.T) {
	c := matched(t, builder("eider-3", 64), builder("eider-4", 64))
	queueNamed(t, c, "bisect", QueueChange{Requires: &[]string{"memory=8192m", "machine=eider-3"}})
	q, err := fold(t.Context(), c.Log, events.QueueSubject("bisect"), evolveQueue)
	if err != nil || !cmp.Equal(q.state.settings.Requires, []string{"machine=eider-3", "memory=8g"}) {
		t.Errorf("%+v %v", q, err)
	}
	for _, same := range []QueueChange{{}, {Requires: &[]string{"memory=8", "machine=eider-3"}}} {
		if again, err := c.ConfigureQueue(t.Context(), by, "bisect", same); err != nil || !again.Existed {
			t.Errorf("%+v %v", again, err)
		}
	}
	in := func(n NewRequest) NewRequest { n.Queue = "bisect"; return n }
	_, _, err = c.CreateRequest(t.Context(), by, in(requiring("c1", "machine=eider-4")))
	refused(t, err, Impossible, "machine=eider-3 (queue bisect) and machine=eider-4 (the request): they exclude one another")
	if _, _, err := c.CreateRequest(t.Context(), by, in(requiring("c1", "machine=eider-3,eider-4"))); err != nil {
		t.Error(err)
	}
	_, err = c.ConfigureQueue(t.Context(), by, "bisect", QueueChange{Requires: &[]string{"memory=8q"}})
	refused(t, err, Invalid, `requires: term "memory=8q": write memory=8 or memory=8g for 8 GiB`)
	_, err = c.ConfigureQueue(t.Context(), by, "main", QueueChange{Requires: &[]string{"memory=8g"}})
	refused(t, err, Invalid, "queue main is for everyone")
	queueNamed(t, c, "bisect", QueueChange{Requires: &[]string{}})
	if _, _, err := c.CreateRequest(t.Context(), by, in(requiring("c2", "machine=eider-4"))); err != nil {
		t.Error(err)
	}
}

func TestWhatNoMachineCanRunIsRefusedAndLeavesNothing(t *testing.T) {
	c := matched(t, builder("eider-2", 32), builder("eider-3", 64))
	before, err := c.Log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		terms []string
		kind  RefusalKind
		says  string
	}{
		"an unknown word":    {[]string{"colour=red"}, Invalid, `unknown word "colour"`},
		"no unit":            {[]string{"memory=8q"}, Invalid, "write memory=8 or"},
		"negative":           {[]string{"memory=-1"}, Invalid, "write memory=8 or"},
		"too much":           {[]string{"memory=99999999t"}, Invalid, "at most 64 TiB"},
		"no CPUs":            {[]string{"cpus=0"}, Invalid, "write cpus=N"},
		"no devices":         {[]string{"device=gpu:0"}, Invalid, "write device=NAME"},
		"two machines":       {[]string{"machine=a", "machine=b"}, Impossible, "they exclude one another"},
		"another pool":       {[]string{"pool=a"}, Impossible, "pool=builders (kind build) and pool=a (the request): they exclude one another"},
		"a trait and memory": {[]string{"trait=nvme", "memory=72g"}, Impossible, "no machine can run build/here/0: eider-3 comes nearest, it lacks trait nvme and 8 GiB of memory"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := c.CreateRequest(t.Context(), by, requiring("c1", tc.terms...))
			refused(t, err, tc.kind, tc.says)
			_, err = c.CreateRequests(t.Context(), by, Batch{Requests: []NewRequest{requiring("c0"), requiring("c1", tc.terms...)}})
			refused(t, err, tc.kind, "line 2: ")
		})
	}
	if head, err := c.Log.Head(t.Context()); err != nil || head != before {
		t.Errorf("something was recorded: %+v %v", head, err)
	}
	program := requiring("c1", "memory=72g")
	program.AsItIs = true
	if _, _, err := c.CreateRequest(t.Context(), by, program); err != nil {
		t.Errorf("that of a program waits: %v", err)
	}
	if _, answer, err := c.CreateRequest(t.Context(), by, requiring("c1", "memory=72g")); err != nil || !answer.Existed {
		t.Errorf("it is there: %+v %v", answer, err)
	}
}

func TestWithoutMachinesNothingIsMatched(t *testing.T) {
	c := matched(t)
	_, _, err := c.CreateRequest(t.Context(), by, requiring("c1"))
	refused(t, err, Impossible, "none is registered for matched jobs, add one: tacho machine add")
	c, _ = farm(t)
	_, _, err = c.CreateRequest(t.Context(), by, requiring("c1", "memory=8g"))
	refused(t, err, Invalid, `suite small has no kind with lanes = "any"`)
}

func TestOneRequirementTooManyIsRefused(t *testing.T) {
	c := matched(t, builder("eider-3", 64))
	count, terms := maxRequirements-1, []string(nil)
	c.Requirements = func(_ context.Context, asked []string) (int, bool, error) {
		return count, slices.Equal(asked, terms), nil
	}
	if _, _, err := c.CreateRequest(t.Context(), by, requiring("c1", "memory=8g")); err != nil {
		t.Fatal(err)
	}
	count, terms = maxRequirements, []string{"memory=8g"}
	if _, _, err := c.CreateRequest(t.Context(), by, requiring("c2", "memory=8192m")); err != nil {
		t.Errorf("one of the known: %v", err)
	}
	_, _, err := c.CreateRequest(t.Context(), by, requiring("c3", "memory=9g"))
	refused(t, err, Impossible, "have 4096 different requirements, and the farm takes 4096")
}
