// Package docker holds what runs Tacho in containers, and tests the parts that need no containers: the configuration
// of the NATS cluster, which the tests start on loopback addresses, and that every variable is described.
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

	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/attack"
	"github.com/tachobench/tacho/internal/freeport"
)

var update = flag.Bool("update", false, "write nats/collectors.conf")

// lane says which collector works where, in the form that `tacho collector run` reads.
type lane struct {
	Name   events.CollectorName `json:"name"`
	Target events.Target        `json:"target"`
	Set    events.Set           `json:"set"`
}

func (l lane) lane() events.Lane { return events.Lane{Target: l.Target, Set: l.Set} }

// collectors reads the collectors of docker-compose.yml.
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

// users maps the NATS users to the variables of their passwords.
var users = map[string]string{
	"tacho": "TACHO_CORE_PASSWORD", "operator": "TACHO_OPERATOR_PASSWORD", "sys": "TACHO_SYS_PASSWORD",
	"collector-0": "TACHO_COLLECTOR_0_PASSWORD", "collector-1": "TACHO_COLLECTOR_1_PASSWORD",
}

func TestCollectorsConf(t *testing.T) {
	var want strings.Builder
	want.WriteString("# The accounts of the collectors, as package eventlog/door wants them. Written by\n" +
		"# `go test ./docker -update`, and checked by the test.\n")
	for _, c := range collectors(t) {
		want.WriteString("\n" + door.Account(c.Name, "TACHO", fmt.Sprintf("{ user: %s, password: $%s }", c.Name, users[string(c.Name)])))
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
		t.Errorf("the accounts have changed; check the difference, and run go test ./docker -update (-want +got):\n%s", diff)
	}
	common, err := os.ReadFile("nats/common.conf")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(common), door.CoreExports()) {
		t.Errorf("nats/common.conf must have in the account TACHO:\n%s", door.CoreExports())
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
	addrs, err := freeport.Addresses(3)
	if err != nil {
		t.Fatal(err)
	}
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
		at, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		opts.Cluster.Host, opts.Cluster.Port = at.IP.String(), at.Port
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

// connect connects as a user. What the servers deny comes on the channel.
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

	// Each collector reaches its own part of the door and nothing of JetStream.
	for _, own := range collectors(t) {
		if err := log.EnsureLane(ctx, own.lane(), 0); err != nil {
			t.Fatal(err)
		}
		nc, _ := c.connect(t, string(own.Name))
		m, err := nc.Request("$JS.API.STREAM.DELETE.EVENTS", nil, 5*time.Second)
		if err != nil || !strings.Contains(string(m.Data), "not enabled for account") {
			t.Errorf("%s asks JetStream: %v", own.Name, err)
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

// TestAttacks attacks the keys of the compose file's collectors. The attack's farm has two collectors with names of
// its own, so they use the accounts of these.
func TestAttacks(t *testing.T) {
	c := startCluster(t)
	core, _ := c.connect(t, "tacho")
	sys, _ := c.connect(t, "sys")
	all := collectors(t)
	_, site := attack.NewFarm(t, attack.Server{
		Core: core, Replicas: 3, Guard: door.NewGuard(attack.Unhurried(), time.Now), Wall: door.SystemWall{NC: sys},
		Names: map[events.CollectorName]events.CollectorName{attack.Eider: all[0].Name, attack.Teal: all[1].Name},
		Dial: func(name events.CollectorName, opts ...nats.Option) (*nats.Conn, error) {
			return nats.Connect(strings.Join(c.urls, ","), append(opts, nats.UserInfo(string(name), "12e4-"+string(name)))...)
		},
	})
	attack.Run(t, site)
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

// await waits until done returns true.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
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
