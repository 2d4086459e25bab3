package queue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

var epoch = time.Date(2025, 6, 26, 12, 4, 0, 0, time.UTC)

// request returns a ready request of suite "s" that was created at the epoch; its id is its tag.
func request(kind events.RequestKind, tag, parent events.Tag, pr int) Entry {
	return Entry{
		ID: events.RequestID(tag), Kind: kind, State: events.StateArtifactsReady, Suite: "s",
		Tag: tag, Parent: parent, PR: pr, CreatedAt: epoch,
	}
}

func master(tag, parent events.Tag, pr int) Entry { return request(events.Master, tag, parent, pr) }

func try(tag, parent events.Tag, pr int) Entry { return request(events.Try, tag, parent, pr) }

func releaseOf(tag events.Tag, on string) Entry {
	e := request(events.Release, tag, "", 0)
	if on != "" {
		date, err := time.Parse(time.DateOnly, on)
		if err != nil {
			panic(err)
		}
		e.ReleasedOn = date
	}
	return e
}

// started returns e in progress, started this many minutes after the epoch.
func started(e Entry, minutes int) Entry {
	e.State, e.StartedAt = events.StateInProgress, epoch.Add(time.Duration(minutes)*time.Minute)
	return e
}

func unbuilt(e Entry) Entry { return in(e, events.StateWaitingForArtifacts) }

func in(e Entry, s events.RequestState) Entry {
	e.State = s
	return e
}

// made returns e created this many minutes after the epoch.
func made(e Entry, minutes int) Entry {
	e.CreatedAt = epoch.Add(time.Duration(minutes) * time.Minute)
	return e
}

func over(tags ...events.Tag) func(events.SuiteName, events.Tag) bool {
	return func(suite events.SuiteName, tag events.Tag) bool {
		for _, t := range tags {
			if suite == "s" && t == tag {
				return true
			}
		}
		return false
	}
}

func ids(places []Place) []events.RequestID {
	list := make([]events.RequestID, len(places))
	for i, p := range places {
		list[i] = p.ID
	}
	return list
}

func TestOrder(t *testing.T) {
	for _, test := range []struct {
		name    string
		entries []Entry
		done    func(events.SuiteName, events.Tag) bool
		want    []events.RequestID
	}{
		{
			name: "one of everything",
			entries: []Entry{
				master("mmm", "aaa", 18), try("baz", "foo", 17), master("foo", "345", 15), master("123", "bar", 14),
				releaseOf("v1.2.3", "2025-06-26"), started(try("try1", "rrr", 0), 0),
			},
			done: over("bar", "345", "aaa", "rrr"),
			want: []events.RequestID{"try1", "v1.2.3", "123", "foo", "mmm", "baz"},
		},
		{
			name: "one of everything, with the ended parents as entries",
			entries: []Entry{
				in(master("bar", "", 1), events.StateCompleted), in(master("345", "", 2), events.StateFailed),
				in(master("aaa", "", 3), events.StateCancelled), in(master("rrr", "", 4), events.StateCompleted),
				master("mmm", "aaa", 18), try("baz", "foo", 17), master("foo", "345", 15), master("123", "bar", 14),
				releaseOf("v1.2.3", "2025-06-26"), started(try("try1", "rrr", 0), 0),
			},
			want: []events.RequestID{"try1", "v1.2.3", "123", "foo", "mmm", "baz"},
		},
		{
			name:    "unknown parent",
			entries: []Entry{master("sha1", "sha2", 1), master("sha2", "gone", 2)},
			want:    []events.RequestID{"sha2", "sha1"},
		},
		{
			name: "what hangs below an unknown parent comes after all other chains",
			entries: []Entry{
				master("low", "top", 1), master("top", "gone", 2), master("other", "gone too", 3),
				master("a", "", 8), master("b", "a", 9), master("c", "b", 7),
			},
			want: []events.RequestID{"a", "b", "c", "top", "other", "low"},
		},
		{
			name: "a cycle goes by creation time, what hangs below it follows, whatever its age",
			entries: []Entry{
				made(master("x", "z", 1), 3), made(master("y", "x", 2), 2), made(master("z", "y", 3), 4),
				made(master("leaf", "twig", 0), 0), made(master("twig", "y", 0), 1),
				made(master("self", "self", 0), 5),
				master("orphan", "gone", 9), master("fine", "", 10),
			},
			want: []events.RequestID{"fine", "orphan", "y", "x", "z", "self", "twig", "leaf"},
		},
		{
			name: "below a parent without artifacts",
			entries: []Entry{
				unbuilt(try("t", "", 1)), master("child", "t", 2), master("grandchild", "child", 1), master("fine", "", 3),
			},
			want: []events.RequestID{"fine", "child", "grandchild", "t"},
		},
		{
			name:    "a parent in progress counts as done, of several levels the first counts",
			entries: []Entry{started(master("p", "gone", 1), 0), master("c", "p", 9), master("d", "", 10), master("e", "c", 1)},
			want:    []events.RequestID{"p", "c", "d", "e"},
		},
		{
			name: "in progress by start, then PR, then id",
			entries: []Entry{
				started(master("d", "", 1), 2), started(master("c", "", 7), 1), started(master("b", "", 3), 1), started(master("a", "", 7), 1),
			},
			want: []events.RequestID{"b", "a", "c", "d"},
		},
		{
			name: "releases by date, then version",
			entries: []Entry{
				releaseOf("1.10.0", "2025-06-26"), releaseOf("1.9.0", "2025-06-26"), releaseOf("1.8.0", "2025-06-27"),
				releaseOf("undated", ""), master("m", "1.9.0", 0), releaseOf("beta-2025-06-26", "2025-06-26"),
			},
			want: []events.RequestID{"undated", "beta-2025-06-26", "1.9.0", "1.10.0", "1.8.0", "m"},
		},
		{
			name: "within a level by PR, then master before try, then creation, then id",
			entries: []Entry{
				try("none", "", 0), made(try("t1", "", 5), 1), made(try("t0", "", 5), 0), made(master("m1", "", 5), 9),
				made(master("m0", "", 5), 8), try("b", "", 6), try("a", "", 6),
			},
			want: []events.RequestID{"none", "m0", "m1", "t0", "t1", "a", "b"},
		},
		{
			name: "waiting by PR, then creation",
			entries: []Entry{
				made(unbuilt(try("c", "", 2)), 1), made(unbuilt(try("b", "", 2)), 0), unbuilt(try("a", "", 3)),
			},
			want: []events.RequestID{"b", "c", "a"},
		},
		{
			name: "parents are of the same suite",
			entries: []Entry{
				{ID: "r1", Kind: events.Master, State: events.StateArtifactsReady, Suite: "go", Tag: "p", PR: 1},
				{ID: "r2", Kind: events.Master, State: events.StateArtifactsReady, Suite: "rustc", Tag: "c", Parent: "p", PR: 0},
				{ID: "r3", Kind: events.Master, State: events.StateArtifactsReady, Suite: "go", Tag: "c", Parent: "p", PR: 0},
			},
			want: []events.RequestID{"r1", "r3", "r2"},
		},
		{
			name:    "the first of two requests with one tag makes it done",
			entries: []Entry{master("p", "q", 1), master("q", "", 2), {ID: "again", Kind: events.Try, State: events.StateArtifactsReady, Suite: "s", Tag: "p", PR: 3}, master("c", "p", 0)},
			want:    []events.RequestID{"q", "again", "c", "p"},
		},
		{
			name: "of two requests with one tag in a cycle the older, or first by id, is the member",
			entries: []Entry{
				{ID: "p2", Kind: events.Master, State: events.StateArtifactsReady, Suite: "s", Tag: "p", Parent: "c", PR: 1, CreatedAt: epoch},
				{ID: "p1", Kind: events.Master, State: events.StateArtifactsReady, Suite: "s", Tag: "p", Parent: "c", PR: 2, CreatedAt: epoch},
				made(master("c", "p", 0), 1),
			},
			want: []events.RequestID{"p1", "c", "p2"},
		},
		{name: "nothing", want: []events.RequestID{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			places := Order(test.entries, test.done)
			if diff := cmp.Diff(test.want, ids(places)); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
			for i, p := range places {
				if p.Position != i+1 {
					t.Errorf("position of %s is %d, want %d", p.ID, p.Position, i+1)
				}
			}
		})
	}
}

func TestReasons(t *testing.T) {
	type row struct {
		ID        events.RequestID
		Level     int
		Startable bool
		Reason    string
	}
	rows := func(places []Place) []row {
		list := make([]row, len(places))
		for i, p := range places {
			list[i] = row{p.ID, p.Level, p.Startable, p.Reason}
		}
		return list
	}
	late := started(master("late", "", 1), 0)
	late.StartedAt = late.StartedAt.In(time.FixedZone("east", 7200))

	got := rows(Order([]Entry{
		late, in(master("odd", "", 2), events.StateInProgress),
		releaseOf("1.9.0", "2025-06-26"), releaseOf("1.8.0", ""),
		master("a", "", 1), master("b", "bar", 2), master("c", "late", 3), master("d", "c", 4), master("e", "d", 5),
		master("o", "gone", 6), master("u", "w", 7), master("x", "y", 8), made(master("y", "x", 9), 1),
		unbuilt(try("w", "", 10)),
	}, over("bar")))
	want := []row{
		{"odd", 0, false, "in progress"},
		{"late", 0, false, "in progress since 2025-06-26 12:04 UTC"},
		{"1.8.0", 0, true, "release, without a date"},
		{"1.9.0", 0, true, "release, dated 2025-06-26"},
		{"a", 0, true, "ready: it has no parent"},
		{"b", 0, true, "ready: its parent `bar` is done"},
		{"c", 0, true, "ready: its parent `late` is in progress"},
		{"d", 1, false, "level 1: waits for parent `c`"},
		{"e", 2, false, "level 2: waits for parent `d`"},
		{"o", 0, false, "parent `gone` is unknown: taken after all others that can start"},
		{"u", 0, false, "parent `w` waits for its artifacts: taken after all others that can start"},
		{"x", 0, false, "part of a cycle of parents through `y`: taken after all others that can start, oldest first"},
		{"y", 0, false, "part of a cycle of parents through `x`: taken after all others that can start, oldest first"},
		{"w", 0, false, "waits for its artifacts"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

// The last groups are startable exactly when no better request is left.
func TestStartableLastResort(t *testing.T) {
	startable := func(entries ...Entry) []events.RequestID {
		list := []events.RequestID{}
		for _, p := range Order(entries, nil) {
			if p.Startable {
				list = append(list, p.ID)
			}
		}
		return list
	}
	orphan, below := master("o", "gone", 1), master("below", "o", 1)
	x, y := master("x", "y", 1), master("y", "x", 1)
	for _, test := range []struct {
		name    string
		entries []Entry
		want    []events.RequestID
	}{
		{"a release holds up orphans", []Entry{orphan, releaseOf("1.0.0", "2025-06-26")}, []events.RequestID{"1.0.0"}},
		{"orphans hold up cycles", []Entry{x, y, orphan, below, started(master("p", "", 1), 0)}, []events.RequestID{"o"}},
		{"a cycle starts when it is alone", []Entry{x, y, unbuilt(try("w", "", 1))}, []events.RequestID{"x", "y"}},
		{"nothing ready", []Entry{unbuilt(try("w", "", 1))}, []events.RequestID{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, startable(test.entries...)); diff != "" {
				t.Errorf("startable (-want +got):\n%s", diff)
			}
		})
	}
}
