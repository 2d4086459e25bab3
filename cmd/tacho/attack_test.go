package main

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/internal/natsserver"
)

// thief connects with the key of a collector's credentials.
func (s *site) thief(name events.CollectorName, opts ...nats.Option) (*nats.Conn, error) {
	s.t.Helper()
	creds, err := datadir.ReadCredentials(s.home().CredentialsFile(name))
	if err != nil {
		s.t.Fatal(err)
	}
	key, err := nkeys.FromSeed([]byte(creds.Seed))
	if err != nil {
		s.t.Fatal(err)
	}
	opts = append(opts, nats.NoReconnect(), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	return nats.Connect(s.here().NATSURL, append(opts, natsserver.KeyOption(key))...)
}

// TestAStolenKeyHurtsNobody floods and forges with the key of one collector of a running Tacho. Pages still answer, requests
// are admitted, the other lane continues, nothing foreign is in the log, and the alert names the key's collector.
func TestAStolenKeyHurtsNobody(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.patient()
	s.start("--collectors", "0")
	s.must("collector", "add", "eider", "--target", "here", "--set", "0")
	s.must("collector", "add", "teal", "--target", "here", "--set", "1")
	s.begin("collector", "run", "teal")
	nc, err := s.thief("eider")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	garbage := bytes.Repeat([]byte("x"), 2000)
	over, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			for _, subject := range []string{
				door.Prefix + ".eider.append", door.ReadPrefix + ".eider.read", door.Prefix + ".eider.next",
				string(events.RequestSubject("forged")), "$JS.API.STREAM.DELETE.EVENTS",
			} {
				// The core cuts it off, and it comes back when it may.
				_ = nc.PublishRequest(subject, "$JS.API.STREAM.DELETE.EVENTS", garbage)
				_ = nc.PublishRequest(subject, string(events.RequestSubject("forged")), garbage)
			}
			if nc.IsClosed() {
				if again, err := s.thief("eider"); err == nil {
					nc = again
				}
			}
			select {
			case <-stop:
				nc.Close()
				return
			default:
			}
		}
	}()
	var pages, admissions []time.Duration
	for i := range 20 {
		began := time.Now()
		resp, err := http.Get(s.url())
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("the page of a flooded Tacho: %v, %v", resp, err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		pages = append(pages, time.Since(began))
		if i%5 == 0 {
			began = time.Now()
			s.must("request", "release", "v"+string(rune('1'+i/5)))
			admissions = append(admissions, time.Since(began))
		}
	}
	s.eventually("the other lane measures beside the flood", 60*time.Second, func() bool {
		return count(s.events(), func(f events.Fact) bool { d, ok := f.(events.JobFinished); return ok && d.Collector == "teal" }) > 0
	})
	close(stop)
	<-over
	slices.Sort(pages)
	slices.Sort(admissions)
	t.Logf("beside the flood a page took %s at most, and a request by a process of its own %s", pages[len(pages)-1], admissions[len(admissions)-1])
	if pages[len(pages)-1] > time.Second {
		t.Errorf("pages took %v", pages)
	}
	s.eventually("the alert that names it", 30*time.Second, func() bool {
		return strings.Contains(s.must("alerts"), "eider")
	})
	for _, e := range s.events() {
		if e.Actor == "collector:eider" || e.Fact != nil && e.Fact.Subject() == events.RequestSubject("forged") {
			t.Errorf("event %d by %s is in the log: %+v", e.Seq, e.Actor, e.Fact)
		}
	}
	s.checkLog()
}

// TestAKeyIsRotatedWhileAJobRuns: the job continues under the new key, in the same attempt, and the old key opens nothing.
func TestAKeyIsRotatedWhileAJobRuns(t *testing.T) {
	t.Parallel()
	s, _, _ := newLane(t)
	s.must("request", "master", "v1")
	s.awaitResults(1)
	closed := make(chan struct{})
	nc, err := s.thief("first", nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	began := time.Now()
	s.must("collector", "rotate", "first", "--reason", "it was seen elsewhere")
	<-closed
	t.Logf("the old key was cut %s after the command began", time.Since(began).Round(time.Millisecond))
	s.awaitDone("v1")
	list := s.events()
	if lost := count(list, func(f events.Fact) bool { _, ok := f.(events.AttemptLost); return ok }); lost > 0 {
		t.Errorf("%d attempts were lost", lost)
	}
	if other := count(list, dequeuedBy("spare")); other > 0 {
		t.Errorf("the standby began %d jobs", other)
	}
	s.checkLog()
}

// TestACollectorIsRemovedWhileItRuns: its job is given back without spending an attempt and goes to the standby, its
// name is gone for good, and its process does not come back. Its key is cut a moment after the removal, so its results
// may come until its job is given back, and none later.
func TestACollectorIsRemovedWhileItRuns(t *testing.T) {
	t.Parallel() // it waits more than it works
	s, _, _ := newLane(t)
	s.must("request", "master", "v1")
	s.awaitResults(1)
	s.must("collector", "remove", "first", "--reason", "sold")
	s.awaitDone("v1")
	list := s.events()
	if lost := count(list, func(f events.Fact) bool { _, ok := f.(events.AttemptLost); return ok }); lost > 0 {
		t.Errorf("%d attempts were lost", lost)
	}
	released := slices.IndexFunc(list, func(e events.Recorded) bool { _, ok := e.Fact.(events.AttemptReleased); return ok })
	if released < 0 {
		t.Fatal("its job was not given back")
	}
	for _, e := range list[released+1:] {
		if e.Actor == "collector:first" && e.Fact.Subject() != events.CollectorSubject("first") { // it may still say that it leaves
			t.Errorf("event %d after its job was given back: %+v", e.Seq, e.Fact)
		}
	}
	if _, err := s.thief("first"); err == nil {
		t.Error("the key of a removed collector opens still")
	}
	s.refused(3, words("collector activate first"), "removed")
	s.refused(3, words("collector run first"), "first")
	s.checkLog()
}
