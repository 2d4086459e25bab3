package node

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/internal/datadir"
)

// knowing starts a NATS server that knows one key, and returns its address.
func knowing(t *testing.T, key string) string {
	t.Helper()
	ns, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, Nkeys: []*server.NkeyUser{{Nkey: key}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() {
		ns.Shutdown()
		ns.WaitForShutdown()
	})
	if !ns.ReadyForConnections(30 * time.Second) {
		t.Fatal("the NATS server does not start")
	}
	return "nats://" + ns.Addr().String()
}

// A rotation was killed after the log had the new key. The collector's old key is refused, so it takes the new key beside it
// and puts that into the place of the old one.
func TestACollectorStartsWithTheKeyThatTheLogHas(t *testing.T) {
	d := datadir.Dir(t.TempDir())
	creds, _, err := d.NewCredentials("eider", "here", 1)
	if err != nil {
		t.Fatal(err)
	}
	old := creds
	if err := creds.NewKey(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Keep(old), d.KeepNext(creds)); err != nil {
		t.Fatal(err)
	}
	current, err := creds.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	address := knowing(t, current)
	var said bytes.Buffer
	one := &Collector{Name: "eider", Host: &Host{
		Config: config.Default(string(d)), Clock: time.Now, Logger: slog.New(slog.DiscardHandler), Stderr: &said,
		Say: func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) },
	}}
	file := d.CredentialsFile("eider")
	for range 2 { // the second time it is in its place
		kept, err := datadir.ReadCredentials(file)
		if err != nil {
			t.Fatal(err)
		}
		nc, err := one.connectRotated(t.Context(), address, kept)
		if err != nil {
			t.Fatal(err)
		}
		nc.Close()
		if kept, err = datadir.ReadCredentials(file); err != nil || kept.Seed != creds.Seed {
			t.Errorf("the file has another key (%v)", err)
		}
		if _, err := os.Stat(datadir.NextFile(file)); !os.IsNotExist(err) {
			t.Errorf("the new key is still beside it: %v", err)
		}
	}
	stranger, _, err := datadir.Dir(t.TempDir()).NewCredentials("eider", "here", 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.connectRotated(t.Context(), address, stranger); err == nil || !strings.Contains(err.Error(), "does not know this collector's key") {
		t.Errorf("a stranger: %v", err)
	}
}
