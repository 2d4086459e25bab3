package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
	"github.com/tachobench/tacho/website/client"
)

// An event of a newer version comes while everything runs. Nothing ends: pages answer, /readyz, the alerts and the status
// say what to do, and a park heals it without a restart. When it is parked no more, everything stays at it again, also
// after a restart.
func TestAnEventOfANewerVersionEndsNothing(t *testing.T) {
	t.Parallel()
	address := natsWith(t, natsConf(t, "{ user: core, password: s3cret }", door.Account("near", "CORE", "{ user: near, password: n3ar }")))
	s := newSite(t)
	s.patient()
	s.env = append(s.env, "TACHO_NATS_URL=nats://core:s3cret@"+address)
	s.start("--collectors", "0")
	s.must("request", "master", "v1")
	nc, err := nats.Connect("nats://core:s3cret@" + address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	strange := nats.NewMsg(string(events.ShareSubject()))
	for name, value := range map[string]string{
		events.HeaderID: "0199aaaa-0000-7000-8000-000000000001", events.HeaderType: events.TypePrefix + "share.dreamt.v1",
		events.HeaderTime: "2026-11-23T09:00:00.000Z", events.HeaderSource: "control", events.HeaderActor: "test", events.HeaderCause: "0",
	} {
		strange.Header.Set(name, value)
	}
	strange.Data = []byte("{}")
	stored, err := nc.RequestMsg(strange, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var ack struct{ Seq events.Seq }
	err = json.Unmarshal(stored.Data, &ack)
	if err != nil || ack.Seq == 0 {
		t.Fatalf("%s, %v", stored.Data, err)
	}
	seq := strconv.FormatUint(uint64(ack.Seq), 10)
	todo := "tacho events park " + seq
	ready := func() (int, string) {
		resp, err := http.Get(s.here().URL + "/readyz")
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return 0, err.Error()
		}
		return resp.StatusCode, string(body)
	}
	stays := func() {
		t.Helper()
		s.eventually("it says that it stays at the event", 30*time.Second, func() bool {
			status, said := ready()
			return status == http.StatusServiceUnavailable && strings.Contains(said, todo) && strings.Contains(said, "share.dreamt.v1 on tacho.ev.share") && strings.Contains(said, "the tables")
		})
		page := s.page(s.here().URL, "/")
		for _, said := range []string{page, s.must("status"), s.must("alerts")} {
			if !strings.Contains(said, "event "+seq) || !strings.Contains(said, todo) {
				t.Errorf("it says nothing of event %s:\n%s", seq, said)
			}
		}
	}
	goesOn := func() {
		t.Helper()
		s.eventually("it is ready", 30*time.Second, func() bool { status, _ := ready(); return status == http.StatusOK })
		s.eventually("no alert stands", 30*time.Second, func() bool { return !strings.Contains(s.must("alerts"), "event "+seq) })
		if out := s.must("replay", "--verify"); !strings.Contains(out, "identical") {
			t.Errorf("replay: %s", out)
		}
	}
	stays()
	s.must("collector", "want", "v9", "--reason", "test") // what does not need the event goes on
	s.refused(cli.ExitRefused, []string{"events", "park", "1", "--reason", "test"}, "understands event 1")
	s.refused(cli.ExitRefused, []string{"events", "park", "9999", "--reason", "test"}, "the log ends at event")
	s.refused(cli.ExitRefused, []string{"events", "unpark", seq, "--reason", "test"}, "is not parked")

	park := []string{"events", "park", seq, "--reason", "the farm is updated on Monday"}
	if out := s.must(park...); !strings.Contains(out, "event "+seq+" is parked: type share.dreamt.v1") {
		t.Errorf("park: %s", out)
	}
	goesOn()
	if out := s.must(park...); !strings.Contains(out, "parked already") {
		t.Errorf("park: %s", out)
	}
	var list []client.Park
	out := s.must("events", "parked", "--json")
	err = json.Unmarshal([]byte(out), &list)
	if err != nil || len(list) != 1 || list[0].First != ack.Seq || list[0].Reason != park[4] {
		t.Errorf("parked: %s, %v", out, err)
	}
	out = s.must("events", "unpark", seq, "--reason", "try", "--json")
	if !strings.Contains(out, `"first": `+seq) {
		t.Errorf("unpark: %s", out)
	}
	stays()
	s.interrupt()
	s.start("--collectors", "0") // with the strange event there from the first moment
	stays()
	s.must(park...)
	goesOn()
}
