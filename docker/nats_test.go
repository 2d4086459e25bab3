// Package docker holds what runs Tacho in containers, and tests what of it can be tested without them: the
// configuration of the NATS cluster, which is started here on loopback addresses, and that every variable
// is described.
package docker

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
)

var update = flag.Bool("update", false, "write nats/collectors.conf")

// lane says which collector works where, as `tacho collector run` reads it.
type lane struct {
	Name   events.CollectorName `json:"name"`
	Target events.Target        `json:"target"`
	Set    events.Set           `json:"set"`
}

func (l lane) lane() events.Lane { return events.Lane{Target: l.Target, Set: l.Set} }

// variable is the name of its rights in the configuration of NATS.
func (l lane) variable() string { return strings.ToUpper(strings.ReplaceAll(string(l.Name), "-", "_")) }

// collectors reads those of docker-compose.yml.
func collectors(t *testing.T) (all []lane) {
	t.Helper()
	files, err := filepath.Glob("collectors/*.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("collectors: %q %v", files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var l lane
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, l)
	}
	return all
}

// users are the NATS users and the variables of their passwords.
var users = map[string]string{
	"tacho": "TACHO_CORE_PASSWORD", "operator": "TACHO_OPERATOR_PASSWORD", "sys": "TACHO_SYS_PASSWORD",
	"collector-0": "TACHO_COLLECTOR_0_PASSWORD", "collector-1": "TACHO_COLLECTOR_1_PASSWORD",
}

func TestCollectorsConf(t *testing.T) {
	var want strings.Builder
	want.WriteString("# The rights of the collectors, as package eventlog/jetstream wants them. Written by\n" +
		"# `go test ./docker -update`, and checked by the test.\n")
	for _, c := range collectors(t) {
		p := jetstream.CollectorPermissions(c.Name, c.lane())
		list := func(subjects []string) string {
			return "[\n      \"" + strings.Join(subjects, "\"\n      \"") + "\"\n    ]"
		}
		fmt.Fprintf(&want, "\n%s = {\n  publish: {\n    allow: %s\n  }\n  subscribe: {\n    allow: %s\n  }\n}\n",
			c.variable(), list(p.Publish), list(p.Subscribe))
	}
	const name = "nats/collectors.conf"
	if *update {
		if err := os.WriteFile(name, []byte(want.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("the rights have changed; check the difference, and run go test ./docker -update (-want +got):\n%s", diff)
	}
}

// cluster is the three nodes, with their own configuration files, on loopback addresses.
type cluster struct {
	urls []string
}

func startCluster(t *testing.T) cluster {
	t.Helper()
	for user, variable := range users {
		t.Setenv(variable, `"12e4-`+user+`"`) // begins like a number, as a random password may
	}
	addrs := freeAddresses(t, 3)
	t.Setenv("TACHO_ROUTE_PASSWORD", `"77k"`)
	t.Setenv("TACHO_NATS_ROUTES", fmt.Sprintf(`["nats://route:77k@%s", "nats://route:77k@%s", "nats://route:77k@%s"]`, addrs[0], addrs[1], addrs[2]))
	var c cluster
	var servers []*server.Server
	for i, addr := range addrs {
		opts, err := server.ProcessConfigFile(fmt.Sprintf("nats/nats-%d.conf", i+1))
		if err != nil {
			t.Fatal(err)
		}
		if !opts.SyncAlways || !opts.JetStream {
			t.Errorf("node %d: SyncAlways %t, JetStream %t", i+1, opts.SyncAlways, opts.JetStream)
		}
		opts.Host, opts.Port, opts.HTTPPort = "127.0.0.1", server.RANDOM_PORT, 0
		opts.Cluster.Host, opts.Cluster.Port = addr.IP.String(), addr.Port
		opts.StoreDir = filepath.Join(t.TempDir(), "data")
		opts.NoSigs, opts.NoLog = true, true
		s, err := server.NewServer(opts)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		servers = append(servers, s)
	}
	await(t, "the cluster", func() bool {
		led, current := false, 0
		for _, s := range servers {
			led = led || s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(servers)
			if s.JetStreamIsCurrent() {
				current++
			}
		}
		return led && current == len(servers)
	})
	for _, s := range servers {
		c.urls = append(c.urls, s.ClientURL())
	}
	return c
}

// connect connects as a user; what the servers deny comes on the channel.
func (c cluster) connect(t *testing.T, user string, opts ...nats.Option) (*nats.Conn, <-chan error) {
	t.Helper()
	denied := make(chan error, 100)
	opts = append(opts, nats.UserInfo(user, "12e4-"+user), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))
	nc, err := nats.Connect(strings.Join(c.urls, ","), opts...)
	if err != nil {
		t.Fatalf("connect as %s: %v", user, err)
	}
	t.Cleanup(nc.Close)
	return nc, denied
}

func TestCluster(t *testing.T) {
	c := startCluster(t)
	ctx := t.Context()

	for _, bad := range []nats.Option{nats.UserInfo("tacho", "wrong"), nats.UserInfo("nobody", ""), nats.Name("without a user")} {
		if nc, err := nats.Connect(strings.Join(c.urls, ","), bad); err == nil {
			nc.Close()
			t.Error("somebody without a password was let in")
		}
	}

	core, denied := c.connect(t, "tacho")
	log, err := jetstream.Open(ctx, core, jetstream.Config{Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{
		"$JS.API.STREAM.UPDATE.EVENTS", "$JS.API.STREAM.DELETE.EVENTS", "$JS.API.STREAM.PURGE.EVENTS", "$JS.API.STREAM.MSG.DELETE.EVENTS",
	} {
		wantDenied(t, core, denied, subject)
	}

	// Each collector reaches its own lane with the adapter that it uses, and nobody else's.
	all := collectors(t)
	for i, own := range all {
		if err := log.EnsureLane(ctx, own.lane()); err != nil {
			t.Fatal(err)
		}
		nc, denied := c.connect(t, string(own.Name), jetstream.CollectorOptions(own.Name)...)
		remote, err := jetstream.OpenCollector(ctx, nc, own.Name, own.lane())
		if err != nil {
			t.Fatalf("%s: %v", own.Name, err)
		}
		draining := eventlog.NewEvent(events.CollectorDraining{Name: own.Name}, eventlog.Meta{Actor: "test"}, time.Now())
		if _, err := remote.Append(ctx, eventlog.Append{Subject: events.CollectorSubject(own.Name), Events: []events.Event{draining}}); err != nil {
			t.Errorf("%s: append about itself: %v", own.Name, err)
		}
		other := all[(i+1)%len(all)]
		for _, subject := range []string{
			string(events.WorkSubject(other.lane())), string(events.ResultSubject(other.lane(), "j")), string(events.CollectorSubject(other.Name)),
			string(events.LaneSubject(own.lane())), string(events.AdmissionSubject()), string(events.RequestSubject("r")),
			"$JS.API.CONSUMER.MSG.NEXT.EVENTS." + jetstream.LaneConsumer(other.lane()),
			"$JS.API.STREAM.DELETE.EVENTS", "$JS.API.STREAM.INFO.EVENTS", "$JS.API.CONSUMER.CREATE.EVENTS.x", "$SYS.REQ.SERVER.PING",
		} {
			wantDenied(t, nc, denied, subject)
		}
		for _, subject := range []string{">", "tacho.ev.>", "_INBOX.>"} {
			sub, err := nc.SubscribeSync(subject)
			if err != nil {
				t.Fatal(err)
			}
			wantDenial(t, nc, denied, subject)
			_ = sub.Unsubscribe() // the server never had it
		}
	}

	// The servers' own account sees the cluster, and not the log.
	sys, _ := c.connect(t, "sys")
	if _, err := sys.Request("$SYS.REQ.SERVER.PING", nil, 5*time.Second); err != nil {
		t.Errorf("ask the servers: %v", err)
	}
	m, err := sys.Request("$JS.API.STREAM.INFO.EVENTS", nil, 5*time.Second)
	if err != nil || !strings.Contains(string(m.Data), `"error"`) {
		t.Errorf("the account of the servers looks at the log: %v", err)
	}
}

func wantDenied(t *testing.T, nc *nats.Conn, denied <-chan error, subject string) {
	t.Helper()
	if err := nc.Publish(subject, nil); err != nil {
		t.Fatal(err)
	}
	wantDenial(t, nc, denied, subject)
}

func wantDenial(t *testing.T, nc *nats.Conn, denied <-chan error, subject string) {
	t.Helper()
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-denied:
		if !strings.Contains(err.Error(), `"`+subject+`"`) {
			t.Errorf("%s: denied something else: %v", subject, err)
		}
	case <-time.After(5 * time.Second):
		t.Errorf("%s is permitted", subject)
	}
}

func freeAddresses(t *testing.T, n int) (addrs []*net.TCPAddr) {
	t.Helper()
	var taken []net.Listener
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		taken, addrs = append(taken, l), append(addrs, l.Addr().(*net.TCPAddr))
	}
	for _, l := range taken {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return addrs
}

// await waits until done answers true.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s was not ready in time", what)
		}
	}
}
