package control

import (
	"testing"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// The cap of a branch refuses a priority that is named, and lowers one that is not.
func TestACapLowersTheUsualPriority(t *testing.T) {
	c, _ := start(t)
	ctx := t.Context()
	d := released()
	d.Branches = []suite.Branch{
		{Match: "capped", MaxPriority: events.PriorityLow},
		{Match: "usual", Priority: events.PriorityIdle, MaxPriority: events.PriorityLow},
	}
	if _, err := c.Publish(ctx, by, d); err != nil {
		t.Fatal(err)
	}
	for branch, want := range map[string]events.Priority{"capped": events.PriorityLow, "usual": events.PriorityIdle, "free": ""} {
		ask := NewRequest{Suite: "small", Kind: events.Try, Tag: events.Tag(branch), Branch: branch}
		made, _, err := c.CreateRequest(ctx, by, ask)
		if err != nil {
			t.Errorf("branch %s: %v", branch, err)
			continue
		}
		if made.Priority != want {
			t.Errorf("branch %s gives priority %q, want %q", branch, made.Priority, want)
		}
	}
	_, _, err := c.CreateRequest(ctx, by, NewRequest{Suite: "small", Kind: events.Try, Tag: "t9", Branch: "capped", Priority: events.PriorityNormal})
	refused(t, err, Forbidden, "max_priority")
}

// A newer program may publish for one branch what this one cannot read.
func TestUnreadableDefinitionsAreThoseOfABranch(t *testing.T) {
	c, log := start(t)
	ctx := t.Context()
	last, _, err := log.Last(ctx, events.SuiteSubject("small"))
	if err != nil {
		t.Fatal(err)
	}
	newer := events.DefinitionsPublished{Suite: "small", Branch: "next", Digest: "d9", Content: events.RawJSON(`{"version":99}`)}
	if _, err := log.Append(ctx, eventlog.Append{Subject: newer.Subject(), Expected: last.Seq, Events: c.events(by, newer)}); err != nil {
		t.Fatal(err)
	}
	if d, err := c.Definitions(ctx, "small", "main"); err != nil || d.Digest() != definitions().Digest() {
		t.Error("another branch has no definitions:", err)
	}
	if _, err := c.Definitions(ctx, "small", "next"); err == nil {
		t.Error("what cannot be read is used")
	}
}
