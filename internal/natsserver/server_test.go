package natsserver_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/tachobench/tacho/internal/natsserver"
)

func start(t *testing.T, cfg natsserver.Config) *natsserver.Server {
	t.Helper()
	s, err := natsserver.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s
}

func wantRefusal(t *testing.T, cfg natsserver.Config, words ...string) {
	t.Helper()
	s, err := natsserver.Start(cfg)
	if err == nil {
		s.Shutdown()
		t.Fatal("started")
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func TestOneProcessPerDirectory(t *testing.T) {
	dir := t.TempDir()
	s := start(t, natsserver.Config{Dir: dir, Unsynced: true})
	wantRefusal(t, natsserver.Config{Dir: dir}, "in use by process "+fmt.Sprint(os.Getpid()), dir)
	s.Shutdown()
	start(t, natsserver.Config{Dir: dir, Unsynced: true})
}

func TestDirectoryKeepsItsKind(t *testing.T) {
	membership := &natsserver.Membership{Cluster: "c", Server: "n1", Listen: "127.0.0.1:0"}
	alone, joined, foreign := t.TempDir(), t.TempDir(), t.TempDir()
	start(t, natsserver.Config{Dir: alone}).Shutdown()
	wantRefusal(t, natsserver.Config{Dir: alone, Cluster: membership}, "stand-alone", "mirror the log")

	c, err := natsserver.StartCluster(t.Context(), [3]string{joined, t.TempDir(), t.TempDir()}, true)
	if err != nil {
		t.Fatal(err)
	}
	c.Shutdown()
	wantRefusal(t, natsserver.Config{Dir: joined}, "cluster member")

	// A store without a mark was written by another program, most likely a stand-alone server.
	if err := os.Mkdir(foreign+"/jetstream", 0o700); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, natsserver.Config{Dir: foreign, Cluster: membership}, "stand-alone")
}

func TestOpenAddressNeedsKeys(t *testing.T) {
	wantRefusal(t, natsserver.Config{Dir: t.TempDir(), Listen: "0.0.0.0:0"}, "0.0.0.0:0", "prove a key")
	wantRefusal(t, natsserver.Config{Dir: t.TempDir(), Listen: "nonsense"}, "host:port")
}

func TestWithoutListenThereIsNoPort(t *testing.T) {
	s := start(t, natsserver.Config{Dir: t.TempDir()})
	if s.URL() != "" {
		t.Fatalf("listens on %s", s.URL())
	}
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}

// book admits the keys that are written into it.
type book struct {
	mu   sync.Mutex
	keys map[string]*natsserver.Permissions
}

func (b *book) Permissions(key string) (*natsserver.Permissions, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.keys[key]
	return p, ok
}

func (b *book) admit(t *testing.T, p *natsserver.Permissions) nkeys.KeyPair {
	t.Helper()
	key, public := newKey(t)
	b.write(public, p)
	return key
}

func (b *book) write(public string, p *natsserver.Permissions) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keys[public] = p
}

func newKey(t *testing.T) (nkeys.KeyPair, string) {
	t.Helper()
	key, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return key, public
}

func TestKeysAreAdmittedAtRunTime(t *testing.T) {
	who := &book{keys: map[string]*natsserver.Permissions{}}
	s := start(t, natsserver.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", Auth: who})
	inside, err := s.Connect()
	if err != nil {
		t.Fatalf("the core: %v", err)
	}
	defer inside.Close()

	stranger, strangerPublic := newKey(t)
	for what, opts := range map[string][]nats.Option{
		"nobody":            nil,
		"a stranger":        {natsserver.KeyOption(stranger)},
		"a forged stranger": {nats.Nkey(strangerPublic, func([]byte) ([]byte, error) { return []byte("forged"), nil })},
	} {
		if nc, err := nats.Connect(s.URL(), opts...); err == nil {
			nc.Close()
			t.Errorf("%s was let in", what)
		}
	}
	// A known key with the signature of another.
	_, known := newKey(t)
	who.write(known, nil)
	if nc, err := nats.Connect(s.URL(), nats.Nkey(known, stranger.Sign)); err == nil {
		nc.Close()
		t.Error("a stolen name was let in")
	}

	key := who.admit(t, &natsserver.Permissions{Publish: []string{"may.do"}})
	denied := make(chan error, 10)
	nc, err := nats.Connect(s.URL(), natsserver.KeyOption(key),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))
	if err != nil {
		t.Fatalf("the registered: %v", err)
	}
	defer nc.Close()
	for _, subject := range []string{"may.do", "may.not"} {
		if err := nc.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := nc.SubscribeSync("any"); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"may.not", "any"} {
		if err := <-denied; !strings.Contains(err.Error(), word) {
			t.Errorf("denied %q, want %q", err, word)
		}
	}
	// A key without permissions of its own has all rights.
	all, err := nats.Connect(s.URL(), natsserver.KeyOption(who.admit(t, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	if _, err := all.Request("$JS.API.INFO", nil, 5e9); err != nil {
		t.Fatalf("all rights: %v", err)
	}
}
