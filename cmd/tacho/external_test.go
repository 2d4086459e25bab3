package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/internal/cli"
	"github.com/tachobench/tacho/internal/freeport"
	"github.com/tachobench/tacho/internal/pgserver"
)

func freePort(t *testing.T) string {
	t.Helper()
	addrs, err := freeport.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	return addrs[0]
}

// The parts use servers that others run. A collector identifies itself by its own key, by a user in the URL, or by a key in a
// file. Errors differ between a server that does not know it and a server that does not answer.
func TestPartsOnServersOfOthers(t *testing.T) {
	t.Parallel()
	core, collector := newKey(t), newKey(t)
	address := natsWith(t, natsConf(t, "{ user: core, password: s3cret }, { nkey: "+core.public+" }",
		door.Account("near", "CORE", "{ user: near, password: n3ar }, { nkey: "+collector.public+" }")))
	withUser := "nats://core:s3cret@" + address
	pg, err := pgserver.Start(t.Context(), pgserver.Config{Dir: filepath.Join(t.TempDir(), "postgres"), Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := pg.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	s := newSite(t)
	listen := freePort(t)
	s.env = append(s.env, "TACHO_NATS_URL="+withUser, "TACHO_DATABASE_URL="+pg.URL(), "TACHO_TOKEN=t", "TACHO_SERVER=http://"+listen)

	first := s.begin("serve", "projector,watchdog,website", "--listen", listen)
	first.says(s, "serving    projector, watchdog, website")
	s.must("suite", "publish", s.dir+"/naps.toml")
	s.eventually("it projects", 30*time.Second, func() bool { return strings.Contains(s.must("events", "tail"), "definitions.published") })
	byKey := s.with("TACHO_NATS_URL=nats://"+address, "TACHO_NATS_CREDS="+core.file)
	second := byKey.begin("serve", "scheduler", "projector")
	second.says(s, "serving    projector, scheduler")
	second.says(s, "this one waits for its turn")
	out := s.must("collector", "add", "near", "--target", "here", "--set", "0")
	if !strings.Contains(out, "nkey: U") {
		t.Errorf("what the server must know is not said:\n%s", out)
	}

	own := s.with("TACHO_NATS_URL=nats://" + address)
	own.refused(cli.ExitRefused, words("collector run near"), "does not know this collector's key", "`tacho collector add near --target here --set 0`")
	s.with("TACHO_NATS_URL=nats://core:wrong@"+address).refused(cli.ExitRefused, words("collector run near"), "refuses the user of the URL")
	s.with("TACHO_NATS_URL=nats://core:wrong@"+address).refused(cli.ExitRefused, words("serve scheduler"), "check the user and password in nats.url")
	s.with("TACHO_NATS_URL=nats://"+address, "TACHO_NATS_CREDS="+newKey(t).file).refused(cli.ExitRefused, words("collector run near"), "does not know the key in")

	// The core's own user is no user for a collector.
	s.refused(cli.ExitFailed, words("collector run near"), "an account of their own")
	for _, how := range []*site{s.with("TACHO_NATS_URL=nats://near:n3ar@" + address), s.with("TACHO_NATS_URL=nats://"+address, "TACHO_NATS_CREDS="+collector.file)} {
		p := how.begin("collector", "run", "near")
		s.eventually("the collector is online", 30*time.Second, func() bool {
			return strings.Contains(s.must("collector", "list"), "idle")
		})
		if code := p.stop(t); code != cli.ExitDone {
			t.Errorf("exit code %d:\n%s", code, p.log.String())
		}
		s.eventually("the collector is offline", 30*time.Second, func() bool {
			return strings.Contains(s.must("collector", "list"), "offline")
		})
	}

	// The second projector takes over from the first.
	if code := first.stop(t); code != cli.ExitDone {
		t.Errorf("exit code %d:\n%s", code, first.log.String())
	}
	s.begin("serve", "website", "--listen", listen).says(s, "serving    website")
	s.must("request", "master", "v3")
	s.eventually("the request is in the tables", 30*time.Second, func() bool { return strings.Contains(s.must("request", "list"), "v3") })
}

// natsConf is the configuration of a server with the core's account, its users, and the accounts of collectors.
func natsConf(t *testing.T, coreUsers, collectors string) server.Options {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nats.conf")
	text := fmt.Sprintf("jetstream: enabled\naccounts {\n CORE: { jetstream: enabled, users: [ %s ]\n%s }\n%s}\n", coreUsers, door.CoreExports(), collectors)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return *o
}

type natsKey struct{ public, file string }

// newKey makes an nkey, with its seed in a file.
func newKey(t *testing.T) natsKey {
	t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	k := natsKey{file: filepath.Join(t.TempDir(), "seed")}
	if k.public, err = pair.PublicKey(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(k.file, append(seed, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// with is the same site for a process with other variables.
func (s *site) with(env ...string) *site {
	return &site{t: s.t, dir: s.dir, args: s.args, env: append(s.env[:len(s.env):len(s.env)], env...)}
}
