// Package attack tries everything that the key of a collector can reach, and checks that it did no harm.
//
// Run gets a key and its server: the one inside `tacho up`, a cluster of three, or the one of the compose file. It asks
// on every subject of the key (Rights) and on the subjects of JetStream that keys once had, with every reply subject,
// every header and every form of body that an attacker would try. After each group of attacks the farm must be whole. A
// test compares Rights with what the door offers, so no right is added without its attacks.
package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
)

// Site is what is attacked, with the key of one collector.
type Site struct {
	// Name and Lane belong to the key.
	Name events.CollectorName
	Lane events.Lane
	// Victim is another collector, of another lane.
	Victim     events.CollectorName
	VictimLane events.Lane
	// Dial connects with the key.
	Dial func(opts ...nats.Option) (*nats.Conn, error)
	// Whole fails the test unless the farm is as it was: the log has nothing that the key may not say, nothing
	// is deleted, and other lanes work.
	Whole func(t *testing.T)
}

// Rights returns the bodies that are tried on each verb of the door, by the verb's name.
func (s Site) Rights() map[string][]any {
	at := time.Now().UTC()
	event := func(typ string, data any) map[string]any {
		return map[string]any{"id": uuid.NewString(), "type": typ, "time": at, "data": data}
	}
	part := func(subject events.Subject, e ...map[string]any) map[string]any {
		return map[string]any{"v": 1, "parts": []any{map[string]any{"subject": subject, "expected": 0, "events": e}}}
	}
	online := event("collector.online.v1", map[string]any{"name": s.Name, "instance": "x"})
	later := event("collector.online.v1", map[string]any{"name": s.Name, "instance": "x"})
	later["time"] = "9998-01-01T00:00:00Z"
	work := map[string]any{"lane": s.Lane, "place": 1, "job_id": "j1", "collector": s.Name, "token": 1, "attempt": 1, "outcome": "success"}
	return map[string][]any{
		"append": {
			part(events.CollectorSubject(s.Name), online),
			part(events.CollectorSubject(s.Name), later),
			part(events.CollectorSubject(s.Name), event("dev.tacho.nonsense.v1", map[string]any{})),
			part(events.CollectorSubject(s.Name), event("nonsense.v9", map[string]any{})),
			part(events.CollectorSubject(s.Name), event("collector.registered.v1", map[string]any{"name": s.Name, "target": s.VictimLane.Target, "nkey": "U"})),
			part(events.RegistrySubject(s.Name), event("collector.registered.v2", map[string]any{"name": s.Name, "target": s.VictimLane.Target})),
			part(events.RegistrySubject(s.Victim), event("collector.removed.v1", map[string]any{"name": s.Victim})),
			part(events.RegistryOpenedSubject(), event("registry.opened.v1", map[string]any{})),
			part(events.CollectorSubject(s.Victim), event("collector.offline.v1", map[string]any{"name": s.Victim})),
			part(events.RequestSubject("forged"), event("request.created.v1", map[string]any{"request_id": "forged", "kind": "master", "suite": "go", "tag": "x"})),
			part(events.SuiteSubject("go"), event("definitions.published.v1", map[string]any{"suite": "go", "digest": "d", "content": map[string]any{}})),
			part(events.LaneSubject(s.Lane), event("job.dispatched.v1", map[string]any{"place": 1, "job": map[string]any{"target": s.Lane.Target, "set": s.Lane.Set}})),
			part(events.WorkSubject(s.Lane), event("job.finished.v1", work)),
			part(events.WorkSubject(s.VictimLane), event("job.finished.v1", work)),
			part(events.ResultSubject(s.Lane, "j1"), event("test_cases.measured.v1", map[string]any{"lane": s.Lane, "job_id": "j1", "collector": s.Name, "token": 1})),
			part("tacho.ev.>", online), part("$JS.API.STREAM.DELETE.EVENTS", online), part(""),
			map[string]any{"v": 1},
			map[string]any{"v": 99},
			map[string]any{"v": 1, "after": uint64(1) << 60},
		},
		"last": s.subjects(), "read": s.subjects(),
		"old":   {map[string]any{}, map[string]any{"last_by_subj": "tacho.ev.>"}},
		"next":  {map[string]any{"v": 1}, map[string]any{"v": 1, "lane": s.VictimLane}},
		"leave": {map[string]any{"v": 1}},
		"answer": {
			s.answer("$JS.ACK.EVENTS."+lane(s.Lane)+".1.1.1.1.0", "ended"), s.answer("$JS.ACK.EVENTS."+lane(s.VictimLane)+".1.1.1.1.0", "ended"),
			s.answer("$JS.ACK.EVENTS."+lane(s.VictimLane)+".1.1.1.1.0", "given back"), s.answer("$JS.ACK.EVENTS."+lane(s.Lane)+".*.1.1.1.0", "prolonged"),
			s.answer("$JS.API.STREAM.DELETE.EVENTS", "ended"), s.answer("", "+TERM"),
		},
		"beat": {
			s.beat(s.Name, "claim"), s.beat(s.Victim, "claim"), s.beat(s.Victim, "release"), s.beat("*", "claim"), s.beat("", "beat"), map[string]any{"v": 1},
		},
		"done": {
			map[string]any{"v": 1, "same": map[string]any{"job_id": "j1", "key": "k"}},
			map[string]any{"v": 1, "same": map[string]any{"job_id": "../*", "key": strings.Repeat("k", 4096)}},
			map[string]any{"v": 1, "same": map[string]any{"job_id": "j1", "key": "k", "from": "j2", "counts": true}},
			map[string]any{"v": 1},
		},
		"output": {
			map[string]any{"v": 1, "output": map[string]any{"job_id": "j1", "text": "\x1b[2Jhello"}},
			map[string]any{"v": 1, "output": map[string]any{"job_id": "../*", "text": ">"}},
			map[string]any{"v": 1},
		},
		"begin":  s.wishes(),
		"chunk":  s.places(map[string]any{"n": 0}, map[string]any{"n": -1}, map[string]any{"n": 1 << 40}),
		"finish": s.places(map[string]any{}),
		"open":   s.places(map[string]any{}),
		"piece":  s.places(map[string]any{"n": 0}, map[string]any{"n": -1}),
	}
}

func lane(l events.Lane) string { return fmt.Sprintf("lane-%s-%d", l.Target, l.Set) }

func (s Site) subjects() (out []any) {
	for _, subject := range []events.Subject{
		events.WorkSubject(s.Lane), events.WorkSubject(s.VictimLane), events.RegistrySubject(s.Name), events.RegistrySubject(s.Victim),
		events.RequestSubject("forged"), events.AdmissionSubject(), "tacho.ev.>", "$KV.tacho_beats.>", "",
	} {
		out = append(out, map[string]any{"v": 1, "subject": subject})
	}
	return out
}

// Stored is the output that the victim has stored, and Secret its content.
var (
	Secret = []byte(strings.Repeat("secret of the victim ", 20_000))
	Stored = blob.OutputOf("toolchain", Secret)
)

// wishes returns puts of outputs under each lane and for each job, with digests and sizes that are none.
func (s Site) wishes() (out []any) {
	for _, lane := range []events.Lane{s.Lane, s.VictimLane, {Target: "*", Set: 1}, {Target: "a.b", Set: -1}, {}} {
		for _, o := range []events.Output{Stored, blob.OutputOf("x", nil), {Name: "x", Digest: "*", Bytes: 1}, {Name: ">", Digest: ">", Bytes: -1}, {Digest: Stored.Digest, Bytes: 1 << 60}} {
			out = append(out, map[string]any{"v": 1, "wish": map[string]any{"lane": lane, "job_id": "j1", "output": o, "upload": len(out)%2 == 0}})
		}
	}
	return append(out, map[string]any{"v": 1})
}

// places returns requests about puts and outputs of each lane, each with more fields.
func (s Site) places(more ...map[string]any) (out []any) {
	for _, lane := range []events.Lane{s.VictimLane, s.Lane, {Target: "*", Set: 1}} {
		for _, put := range []string{strings.Repeat("0", 32), "*", ">", ""} {
			for _, fields := range more {
				body := map[string]any{"v": 1, "job_id": "j1", "place": map[string]any{"lane": lane, "digest": Stored.Digest, "put": put}}
				maps.Copy(body, fields)
				out = append(out, body)
			}
		}
	}
	return append(out, map[string]any{"v": 1})
}

func (s Site) answer(delivery, what string) any {
	return map[string]any{"v": 1, "delivery": delivery, "what": what}
}

func (s Site) beat(name events.CollectorName, what string) any {
	return map[string]any{"v": 1, what: true, "beat": map[string]any{"name": name, "instance": "x", "time": "9998-01-01T00:00:00Z"}}
}

// replies returns the reply subjects to which an attacker directs the answers of others.
func (s Site) replies() []string {
	return []string{
		string(events.RequestSubject("forged")), string(events.LaneSubject(s.Lane)), string(events.LaneSubject(s.VictimLane)), string(events.WorkSubject(s.Lane)),
		"$JS.API.STREAM.DELETE.OUTPUTS", "$JS.API.STREAM.PURGE.OUTPUTS", "tacho.blob.out." + string(s.VictimLane.Target) + ".2." + string(Stored.Digest),
		"$JS.API.STREAM.DELETE.EVENTS", "$JS.API.STREAM.PURGE.EVENTS", "$JS.API.STREAM.MSG.DELETE.EVENTS", "$JS.API.CONSUMER.DELETE.EVENTS." + lane(s.VictimLane),
		"$KV.tacho_beats." + string(s.Victim), "$JS.ACK.EVENTS." + lane(s.VictimLane) + ".1.1.1.1.0", door.Prefix + "." + string(s.Victim) + ".append",
		door.Prefix + "." + string(s.Name) + ".append", "tacho.log." + string(s.VictimLane.Target) + ".0.j1", "_R_.x.y", "$SYS.REQ.SERVER.PING",
	}
}

// headers returns the headers that JetStream, the server or Tacho read.
func (s Site) headers() []nats.Header {
	var out []nats.Header
	for name, value := range map[string]string{
		"Nats-Msg-Id": "1", "Nats-Expected-Last-Subject-Sequence": "0", "Nats-Expected-Last-Sequence": "1", "Nats-Expected-Last-Msg-Id": "1", "Nats-Expected-Stream": "EVENTS",
		"Nats-Rollup": "all", "Nats-TTL": "1s", "Nats-Sequence": "1", "Nats-Subject": string(events.RequestSubject("forged")), "Nats-Stream": "EVENTS",
		"Nats-Time-Stamp": "2001-01-01T00:00:00Z", "Nats-Last-Sequence": "0", "Nats-Marker-Reason": "Purge", "KV-Operation": "PURGE", "Status": "404",
		"Nats-Request-Info": `{"acc":"` + string(s.Victim) + `"}`, "Nats-Schedule": "@every 1s", "Nats-Schedule-Target": string(events.RequestSubject("forged")), "Nats-Incr": "1",
		"Nats-Stream-Source": "EVENTS 1 > >", "Nats-Trace-Dest": string(events.RequestSubject("forged")), "Nats-Pin-Id": "1",
		events.HeaderType: "dev.tacho.request.created.v1", events.HeaderActor: "scheduler", events.HeaderSource: "scheduler", events.HeaderTime: "9998-01-01T00:00:00Z",
		"Tacho-Seq": "1", "Tacho-End": "0",
	} {
		out = append(out, nats.Header{name: {value}})
	}
	return append(out,
		nats.Header{"Nats-Batch-Id": {"forged"}, "Nats-Batch-Sequence": {"1"}},
		nats.Header{"Nats-Batch-Id": {"forged"}, "Nats-Batch-Sequence": {"2"}, "Nats-Batch-Commit": {"1"}})
}

// past returns subjects that keys could use before collectors had accounts of their own, and those that the server has
// for everybody.
func (s Site) past() []string {
	stream, own, victim := "EVENTS", lane(s.Lane), lane(s.VictimLane)
	out := []string{
		string(events.WorkSubject(s.Lane)), string(events.ResultSubject(s.Lane, "j1")), string(events.CollectorSubject(s.Name)), string(events.LaneSubject(s.Lane)),
		string(events.WorkSubject(s.VictimLane)), string(events.RequestSubject("forged")), string(events.AdmissionSubject()), string(events.RegistryOpenedSubject()),
		"$KV.tacho_beats." + string(s.Name), "$KV.tacho_beats." + string(s.Victim), "tacho.snapshot.ledger." + ledger.Shape() + ".0", fmt.Sprintf("tacho.log.%s.%d.j1", s.Lane.Target, s.Lane.Set),
		fmt.Sprintf("tacho.blob.out.%s.%d.%s", s.VictimLane.Target, s.VictimLane.Set, Stored.Digest), fmt.Sprintf("tacho.blob.put.%s.%d.%s.%032d", s.Lane.Target, s.Lane.Set, Stored.Digest, 0),
		door.Prefix + "." + string(s.Victim) + ".append", door.ReadPrefix + "." + string(s.Victim) + ".read", "tacho.read.suite.go", door.Prefix + ".append",
		"$JS.ACK." + stream + "." + own + ".1.1.1.1.0", "$JS.ACK." + stream + "." + victim + ".1.1.1.1.0", "$JS.ACK.d.a." + stream + "." + victim + ".1.1.1.1.0",
		"$SYS.REQ.SERVER.PING", "$SYS.REQ.SERVER.PING.VARZ", "$SYS.REQ.ACCOUNT.PING.CONNZ", "$SYS.REQ.USER.INFO", "$SYS.REQ.CLAIMS.UPDATE", "$SYS.REQ.ACCOUNT." + string(s.Victim) + ".CONNZ",
	}
	for _, api := range []string{
		"INFO", "STREAM.NAMES", "STREAM.LIST", "STREAM.INFO.EVENTS", "STREAM.CREATE.X", "STREAM.UPDATE.EVENTS", "STREAM.DELETE.EVENTS", "STREAM.DELETE.LOGS", "STREAM.DELETE.KV_tacho_beats", "STREAM.DELETE.SNAPSHOTS", "STREAM.PURGE.SNAPSHOTS", "DIRECT.GET.SNAPSHOTS",
		"STREAM.UPDATE.OUTPUTS", "STREAM.DELETE.OUTPUTS", "STREAM.PURGE.OUTPUTS", "STREAM.MSG.GET.OUTPUTS", "STREAM.MSG.DELETE.OUTPUTS", "DIRECT.GET.OUTPUTS", "CONSUMER.CREATE.OUTPUTS",
		"STREAM.PURGE.EVENTS", "STREAM.PURGE.LOGS", "STREAM.MSG.GET.EVENTS", "STREAM.MSG.DELETE.EVENTS", "STREAM.SNAPSHOT.EVENTS", "STREAM.RESTORE.EVENTS", "STREAM.LEADER.STEPDOWN.EVENTS",
		"STREAM.PEER.REMOVE.EVENTS", "META.LEADER.STEPDOWN", "SERVER.REMOVE", "ACCOUNT.PURGE.CORE", "DIRECT.GET.EVENTS", "DIRECT.GET.EVENTS." + string(events.WorkSubject(s.Lane)),
		"DIRECT.GET.KV_tacho_beats.$KV.tacho_beats." + string(s.Victim), "CONSUMER.CREATE.EVENTS", "CONSUMER.CREATE.EVENTS.x.tacho.ev.>", "CONSUMER.DURABLE.CREATE.EVENTS.x",
		"CONSUMER.DELETE.EVENTS." + victim, "CONSUMER.PAUSE.EVENTS." + victim, "CONSUMER.INFO.EVENTS." + own, "CONSUMER.NAMES.EVENTS", "CONSUMER.LIST.EVENTS",
		"CONSUMER.MSG.NEXT.EVENTS." + own, "CONSUMER.MSG.NEXT.EVENTS." + victim, "CONSUMER.LEADER.STEPDOWN.EVENTS." + own, "CONSUMER.UNPIN.EVENTS." + own,
	} {
		out = append(out, "$JS.API."+api)
	}
	return out
}

// Run attacks. Each group of attacks is a subtest, and after it the site must be whole.
func Run(t *testing.T, s Site) {
	groups := []struct {
		name   string
		attack func(t *testing.T, a *attacker)
	}{
		// This group is first: later it would hear late answers to its own questions.
		{"listening", func(t *testing.T, a *attacker) { a.listen(t) }},
		{"replies to what the key may ask", func(t *testing.T, a *attacker) { a.replies(t) }},
		{"headers", func(t *testing.T, a *attacker) { a.headers(t) }},
		{"what keys had in the past", func(t *testing.T, a *attacker) { a.past(t) }},
		{"garbage", func(t *testing.T, a *attacker) { a.garbage(t) }},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			a := newAttacker(t, s)
			g.attack(t, a)
			a.settle(t)
			s.Whole(t)
		})
	}
}

// attacker is a connection with the key. It is slow enough not to be cut off: Flooded tests floods.
type attacker struct {
	Site
	nc   *nats.Conn
	sent int
}

func newAttacker(t *testing.T, s Site) *attacker {
	t.Helper()
	nc, err := s.Dial(nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return &attacker{Site: s, nc: nc}
}

// send publishes one message, and waits now and then for the server.
func (a *attacker) send(t *testing.T, m *nats.Msg) {
	t.Helper()
	if rest, open := strings.CutSuffix(m.Subject, ">"); open {
		m.Subject = rest + string(events.WorkSubject(a.Lane))
	}
	err := a.nc.PublishMsg(m)
	if a.sent++; err == nil && a.sent%20 == 0 {
		err = a.nc.FlushTimeout(20 * time.Second)
		a.pace(t)
	}
	if err != nil {
		t.Fatalf("%s, reply %s: %v", m.Subject, m.Reply, err)
	}
}

// pace waits for an answer of the door, so that an attack is no faster than the door.
func (a *attacker) pace(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		m, err := a.nc.RequestWithContext(ctx, door.Prefix+"."+string(a.Name)+".last", a.body(map[string]any{"v": 1, "subject": events.VersionSubject()}))
		if err != nil {
			t.Fatalf("the door does not answer any more: %v", err)
		}
		if !strings.Contains(string(m.Data), `"slower"`) {
			return
		}
	}
}

func (a *attacker) body(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // a literal of this package
	}
	return data
}

// settle waits until the server and the door have seen everything.
func (a *attacker) settle(t *testing.T) {
	t.Helper()
	if err := a.nc.FlushTimeout(20 * time.Second); err != nil {
		t.Fatal(err)
	}
	a.pace(t)
}

func (a *attacker) replies(t *testing.T) {
	for v, subject := range door.Verbs(a.Name) {
		for _, body := range a.Rights()[string(v)] {
			for _, reply := range a.Site.replies() {
				a.send(t, &nats.Msg{Subject: subject, Reply: reply, Data: a.body(body)})
			}
		}
	}
}

func (a *attacker) headers(t *testing.T) {
	for v, subject := range door.Verbs(a.Name) {
		bodies := a.Rights()[string(v)]
		for _, h := range a.Site.headers() {
			for _, body := range []any{bodies[0], bodies[len(bodies)-1]} {
				a.send(t, &nats.Msg{Subject: subject, Reply: a.nc.NewInbox(), Header: h, Data: a.body(body)})
			}
		}
	}
}

func (a *attacker) past(t *testing.T) {
	for _, subject := range a.Site.past() {
		for _, reply := range append(a.Site.replies(), a.nc.NewInbox(), "") {
			a.send(t, &nats.Msg{Subject: subject, Reply: reply, Data: []byte(`{}`)})
			a.send(t, &nats.Msg{Subject: subject, Reply: reply, Header: nats.Header{events.HeaderType: {"dev.tacho.request.created.v1"}}, Data: []byte(`{"request_id":"forged"}`)})
		}
		a.send(t, &nats.Msg{Subject: subject})
		a.send(t, &nats.Msg{Subject: subject, Data: []byte("+TERM")})
	}
}

// listen checks that the key hears nothing of others, whatever it subscribes to.
func (a *attacker) listen(t *testing.T) {
	heard := make(chan *nats.Msg, 1000)
	for _, subject := range []string{">", "tacho.>", "$JS.>", "$KV.>", "$SYS.>", "_INBOX.>", "_R_.>", "$SRV.>", door.Prefix + ".*.*", door.ReadPrefix + ".>", string(events.LaneSubject(a.VictimLane))} {
		if _, err := a.nc.ChanSubscribe(subject, heard); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	a.Whole(t) // the others talk meanwhile
	if err := a.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	for len(heard) > 0 {
		t.Errorf("heard %s", (<-heard).Subject)
	}
}

func (a *attacker) garbage(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, subject := range door.Verbs(a.Name) {
		for _, data := range [][]byte{
			nil, []byte("{"), []byte("null"), []byte("[]"), []byte(`"x"`), []byte("{}"), []byte(`{"v":1,"parts":null,"beat":null,"output":null}`),
			{0, 255, 254},
			[]byte("{\"v\":1}\n" + long), []byte("\n"), []byte("{\"v\":1,\"place\":{\"lane\":null,\"put\":\"\n\"}}"),
			[]byte(`{"v":1,"parts":[{"events":[{"id":"` + long + `"}]}]}`), []byte(`{"v":1,"subject":"` + long + `"}`), []byte(strings.Repeat("[", 20_000)),
		} {
			a.send(t, &nats.Msg{Subject: subject, Reply: a.nc.NewInbox(), Data: data})
		}
	}
}
