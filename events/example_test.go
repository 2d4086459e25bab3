package events_test

import (
	"fmt"
	"time"

	"github.com/tachobench/tacho/events"
)

// Two who ask for the same thing get the same id, on purpose.
func ExampleNewRequestID() {
	a := events.NewRequestID("rustc", events.Master, "1234abc")
	b := events.NewRequestID("rustc", events.Master, "1234abc")
	fmt.Println(a == b, a)
	// Output: true r9f1d3b017d9affbe
}

// The next round of a job has the same identity and an id of its own.
func ExampleJobSpec_Again() {
	j := events.JobSpec{Artifact: events.Artifact{Suite: "rustc", Tag: "1234abc"}, Kind: "compile", Target: "linux"}
	j.ID = j.First()
	again := j.Again()
	fmt.Println(again.Round, again.ID != j.ID, again.First() == j.ID)
	// Output: 1 true true
}

// An event goes into the log and comes back as it was.
func ExampleEncode() {
	e := events.Event{
		ID: "e1", Time: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), Source: "cli", Actor: "cli:alice",
		Fact: events.RequestCancelled{RequestID: "r1", Reason: "a typo"},
	}
	stored, err := events.Encode(e)
	if err != nil {
		fmt.Println(err)
		return
	}
	stored.Subject = e.Fact.Subject()
	back, err := events.Decode(stored)
	fmt.Println(stored.Subject, back.Fact, err)
	// Output: tacho.ev.request.r1 {r1 a typo} <nil>
}
