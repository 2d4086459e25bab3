package attack_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/attack"
	"github.com/tachobench/tacho/internal/freeport"
	"github.com/tachobench/tacho/internal/natsserver"
)

// Every right of a collector has its attacks.
func TestEveryRightIsAttacked(t *testing.T) {
	var offered []string
	for v := range door.Verbs("eider") {
		offered = append(offered, string(v))
	}
	slices.Sort(offered)
	attacked := slices.Sorted(maps.Keys(attack.Site{Name: attack.Eider}.Rights()))
	if diff := cmp.Diff(offered, attacked); diff != "" {
		t.Errorf("(-offered +attacked):\n%s", diff)
	}
	// The account itself has the two services of the door, and nothing else.
	services, _ := natsserver.Door()
	var prefixes []string
	for _, s := range services {
		prefixes = append(prefixes, s.Prefix)
	}
	for v, subject := range door.Verbs("eider") {
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(subject, p+".eider.") }) {
			t.Errorf("%s is on %s, and the account has %v", v, subject, prefixes)
		}
	}
	if len(services) != 2 {
		t.Errorf("the account has %v", prefixes)
	}
}

type keys map[events.CollectorName]nkeys.KeyPair

func newKeys(t *testing.T) (keys, map[events.CollectorName]string) {
	t.Helper()
	all, public := keys{}, map[events.CollectorName]string{}
	for _, name := range []events.CollectorName{attack.Eider, attack.Teal} {
		key, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		all[name] = key
		if public[name], err = key.PublicKey(); err != nil {
			t.Fatal(err)
		}
	}
	return all, public
}

func embedded(t *testing.T, bounds door.Bounds) (*attack.Farm, attack.Site) {
	t.Helper()
	guard := door.NewGuard(bounds, time.Now)
	services, limits := natsserver.Door()
	s, err := natsserver.Start(natsserver.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", Auth: guard, Services: services, Limits: limits, Unsynced: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	core, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(core.Close)
	all, public := newKeys(t)
	return attack.NewFarm(t, attack.Server{
		Core: core, Guard: guard, Wall: s, Keys: public,
		Dial: func(name events.CollectorName, opts ...nats.Option) (*nats.Conn, error) {
			return nats.Connect(s.URL(), append(opts, natsserver.KeyOption(all[name]))...)
		},
	})
}

func TestTheEmbeddedServer(t *testing.T) {
	_, site := embedded(t, attack.Unhurried())
	attack.Run(t, site)
}

func TestFloodsOfTheEmbeddedServer(t *testing.T) {
	bounds := door.DefaultBounds()
	bounds.CutFor = 500 * time.Millisecond
	f, site := embedded(t, bounds)
	worst := f.Flooded(t, site, 20*time.Second)
	t.Logf("the other lane took %s for a job at most", worst)
	if !strings.Contains(f.Told(attack.Eider), "cut off") || f.Told(attack.Teal) != "" {
		t.Errorf("told %q and %q", f.Told(attack.Eider), f.Told(attack.Teal))
	}
	f.Whole(t)
}

// cluster starts three servers with the configuration that `tacho collector add` prints.
func cluster(t *testing.T, public map[events.CollectorName]string) (urls []string) {
	t.Helper()
	const core = "CORE"
	addrs, err := freeport.Addresses(3)
	if err != nil {
		t.Fatal(err)
	}
	var routes []string
	for _, addr := range addrs {
		routes = append(routes, "nats://"+addr)
	}
	var servers []*server.Server
	for i, addr := range addrs {
		conf := fmt.Sprintf("server_name: n%d\nlisten: \"127.0.0.1:-1\"\njetstream { store_dir: %q, max_file_store: 100GB }\ncluster { name: c, listen: %q, routes: [%s] }\naccounts {\n"+
			"  SYS: { users: [ { user: sys, password: sys } ] }\n  %s: { jetstream: enabled, users: [ { user: core, password: core } ]\n%s  }\n%s%s}\nsystem_account: SYS\n",
			i+1, t.TempDir(), addr, strings.Join(routes, ", "), core, door.CoreExports(),
			door.Conf(attack.Eider, public[attack.Eider], core), door.Conf(attack.Teal, public[attack.Teal], core))
		file := filepath.Join(t.TempDir(), "nats.conf")
		if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
		opts, err := server.ProcessConfigFile(file)
		if err != nil {
			t.Fatalf("%v in:\n%s", err, conf)
		}
		opts.NoSigs, opts.NoLog = true, true
		s, err := server.NewServer(opts)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		servers = append(servers, s)
	}
	deadline := time.Now().Add(10 * time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		led, current := false, 0
		for _, s := range servers {
			led = led || s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(servers)
			if s.JetStreamIsCurrent() {
				current++
			}
		}
		if led && current == len(servers) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the cluster has no leader")
		}
		<-tick.C
	}
	for _, s := range servers {
		urls = append(urls, s.ClientURL())
	}
	return urls
}

func TestAClusterOfThree(t *testing.T) {
	all, public := newKeys(t)
	urls := cluster(t, public)
	core, err := nats.Connect(strings.Join(urls, ","), nats.UserInfo("core", "core"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(core.Close)
	guard := door.NewGuard(attack.Unhurried(), time.Now)
	f, site := attack.NewFarm(t, attack.Server{
		Core: core, Replicas: 3, Guard: guard, Keys: public,
		Dial: func(name events.CollectorName, opts ...nats.Option) (*nats.Conn, error) {
			// The attacker connects to each node in turn; the core stays where it is.
			urls = append(urls[1:], urls[0])
			return nats.Connect(urls[0], append(opts, natsserver.KeyOption(all[name]))...)
		},
	})
	attack.Run(t, site)
	f.Whole(t)
}

// On a cluster the door cuts connections through the system account, and names the collector that floods.
func TestFloodsOfACluster(t *testing.T) {
	all, public := newKeys(t)
	urls := cluster(t, public)
	connect := func(user string) *nats.Conn {
		nc, err := nats.Connect(strings.Join(urls, ","), nats.UserInfo(user, user))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	}
	f, site := attack.NewFarm(t, attack.Server{
		Core: connect("core"), Replicas: 3, Guard: door.NewGuard(door.DefaultBounds(), time.Now), Keys: public, Wall: door.SystemWall{NC: connect("sys")},
		Dial: func(name events.CollectorName, opts ...nats.Option) (*nats.Conn, error) {
			return nats.Connect(urls[1], append(opts, natsserver.KeyOption(all[name]))...)
		},
	})
	worst := f.Flooded(t, site, 20*time.Second)
	t.Logf("the other lane took %s for a job at most", worst)
	if !strings.Contains(f.Told(attack.Eider), "cut off") || f.Told(attack.Teal) != "" {
		t.Errorf("told %q and %q", f.Told(attack.Eider), f.Told(attack.Teal))
	}
	f.Whole(t)
}

// The server refuses a configuration in which a collector imports another collector's part of the door.
func TestAConfigurationThatMixesNamesIsRefused(t *testing.T) {
	_, public := newKeys(t)
	mixed := strings.ReplaceAll(door.Conf(attack.Eider, public[attack.Eider], "CORE"), door.Prefix+".eider.", door.Prefix+".teal.")
	conf := fmt.Sprintf("accounts {\n CORE: { users: [ { user: core, password: core } ]\n%s }\n%s}\n", door.CoreExports(), mixed)
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := server.ProcessConfigFile(file); err == nil || !strings.Contains(err.Error(), "not authorized") {
		t.Errorf("loaded with %v", errors.Join(err))
	}
}

// A new account reaches the core only after the second reload of the server's configuration, as `tacho collector add`
// and the docs say.
func TestANewAccountNeedsTwoReloads(t *testing.T) {
	all, public := newKeys(t)
	file := filepath.Join(t.TempDir(), "nats.conf")
	write := func(accounts string) {
		t.Helper()
		conf := fmt.Sprintf("listen: \"127.0.0.1:-1\"\naccounts {\n CORE: { users: [ { user: core, password: core } ]\n%s }\n%s}\n", door.CoreExports(), accounts)
		if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	opts.NoSigs, opts.NoLog = true, true
	s, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	core, err := nats.Connect(s.ClientURL(), nats.UserInfo("core", "core"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(core.Close)
	if _, err := core.Subscribe(door.Prefix+".>", func(m *nats.Msg) { _ = m.Respond(nil) }); err != nil {
		t.Fatal(err)
	}
	write(door.Conf(attack.Eider, public[attack.Eider], "CORE"))
	for reload, want := range []error{nats.ErrNoResponders, nil} {
		if err := s.Reload(); err != nil {
			t.Fatal(err)
		}
		nc, err := nats.Connect(s.ClientURL(), natsserver.KeyOption(all[attack.Eider]))
		if err != nil {
			t.Fatal(err)
		}
		_, err = nc.Request(door.Prefix+".eider.last", nil, 5*time.Second)
		nc.Close()
		if !errors.Is(err, want) {
			t.Errorf("after reload %d: %v, want %v; where one is enough now, say so in the docs", reload+1, err, want)
		}
	}
}
