package natsserver_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/tachobench/tacho/eventlog/door"
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
	keys map[string]string
	// reading is set while keys may be missing; turned counts the clients that had to wait.
	reading bool
	turned  int
}

func (b *book) Account(key string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name, ok := b.keys[key]
	switch {
	case ok:
		return name, nil
	case b.reading:
		b.turned++
		return "", door.ErrReading
	}
	return "", errors.New("unknown")
}

func (b *book) read(reading bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reading = reading
}

func (b *book) waited() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.turned
}

// admit makes a key for the account.
func (b *book) admit(t *testing.T, account string) (nkeys.KeyPair, string) {
	t.Helper()
	key, public := newKey(t)
	b.write(public, account)
	return key, public
}

func (b *book) write(public, account string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.keys[public] = account; account == "" {
		delete(b.keys, public)
	}
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

// farm is a server with one service, and the core that answers it.
type farm struct {
	*natsserver.Server
	core *nats.Conn
	keys *book
}

func newFarm(t *testing.T, limits natsserver.Limits) farm {
	t.Helper()
	f := farm{keys: &book{keys: map[string]string{}}}
	f.Server = start(t, natsserver.Config{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", Auth: f.keys, Limits: limits, Services: []natsserver.Service{{Prefix: "ask", Within: 5 * time.Second}},
	})
	var err error
	if f.core, err = f.Connect(); err != nil {
		t.Fatalf("the core: %v", err)
	}
	t.Cleanup(f.core.Close)
	if _, err := f.core.Subscribe("ask.>", func(m *nats.Msg) {
		_ = m.Respond([]byte(m.Subject + " " + m.Header.Get("Nats-Request-Info")))
	}); err != nil {
		t.Fatal(err)
	}
	if err := f.core.Flush(); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f farm) client(t *testing.T, account string, opts ...nats.Option) *nats.Conn {
	t.Helper()
	key, _ := f.keys.admit(t, account)
	nc, err := nats.Connect(f.URL(), append(opts, natsserver.KeyOption(key))...)
	if err != nil {
		t.Fatalf("account %s: %v", account, err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func TestOnlyKnownKeysAreAdmitted(t *testing.T) {
	f := newFarm(t, natsserver.Limits{})
	stranger, strangerPublic := newKey(t)
	_, known := newKey(t)
	f.keys.write(known, "a")
	_, odd := newKey(t)
	for what, opts := range map[string][]nats.Option{
		"nobody":                          nil,
		"a stranger":                      {natsserver.KeyOption(stranger)},
		"a forged stranger":               {nats.Nkey(strangerPublic, func([]byte) ([]byte, error) { return []byte("forged"), nil })},
		"a known key, signed by another":  {nats.Nkey(known, stranger.Sign)},
		"a user and a password":           {nats.UserInfo("core", "")},
		"a key without a name of its own": {nats.Nkey(odd, stranger.Sign)},
	} {
		if nc, err := nats.Connect(f.URL(), opts...); err == nil {
			nc.Close()
			t.Errorf("%s was let in", what)
		}
	}
	for _, account := range []string{"", "a.b", "*", ">", "$G", "$SYS", "a b"} {
		key, _ := f.keys.admit(t, account)
		if nc, err := nats.Connect(f.URL(), natsserver.KeyOption(key)); err == nil {
			nc.Close()
			t.Errorf("a key of account %q was let in", account)
		}
	}
}

// While keys are being read, a client with an unknown key is told to try again, and does. After that it is refused.
func TestAKeyThatIsNotKnownYetComesAgain(t *testing.T) {
	f := newFarm(t, natsserver.Limits{})
	f.keys.read(true)
	key, public := newKey(t)
	option := natsserver.KeyOption(key)
	if nc, err := nats.Connect(f.URL(), option); !errors.Is(err, natsserver.ErrNotYet) || errors.Is(err, nats.ErrAuthorization) {
		t.Fatalf("connection %v, %v", nc, err)
	}
	nc, err := nats.Connect(f.URL(), option, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	there, tick := nc.StatusChanged(nats.CONNECTED), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for f.keys.waited() < 6 { // after two refusals the client would end
		<-tick.C
		if nc.IsClosed() {
			t.Fatalf("ended: %v", nc.LastError())
		}
	}
	f.keys.write(public, "a")
	select {
	case <-there:
	case <-time.After(2 * time.Minute):
		t.Fatalf("not let in: %v", nc.LastError())
	}
	f.keys.read(false)
	stranger, _ := newKey(t)
	if nc, err := nats.Connect(f.URL(), natsserver.KeyOption(stranger)); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("a stranger: %v, %v", nc, err)
	}
}

func TestAnAccountReachesItsOwnPartOfAServiceAlone(t *testing.T) {
	f := newFarm(t, natsserver.Limits{})
	a, b := f.client(t, "a"), f.client(t, "b")
	forged := &nats.Msg{Subject: "ask.a.x", Header: nats.Header{"Nats-Request-Info": {`{"acc":"b"}`}}}
	answer, err := a.RequestMsg(forged, 5*time.Second)
	if err != nil || !strings.HasPrefix(string(answer.Data), `ask.a.x {"acc":"a"`) {
		t.Fatalf("asked as a: %s, %v", answer.Data, err)
	}
	for _, subject := range []string{"ask.b.x", "ask.a", "ask.x", "$SYS.REQ.SERVER.PING"} {
		if m, err := a.Request(subject, nil, 5*time.Second); !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("%s: %v, %v", subject, m, err)
		}
	}
	// JetStream answers every account, but says only that it is not enabled for this one.
	for _, subject := range []string{"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.DELETE.EVENTS"} {
		if m, err := a.Request(subject, nil, 5*time.Second); err != nil || !strings.Contains(string(m.Data), "JetStream not enabled for account") {
			t.Errorf("%s: %v, %v", subject, m, err)
		}
	}
	heard := make(chan *nats.Msg, 100)
	for nc, subject := range map[*nats.Conn]string{b: ">", f.core: "stolen.>"} {
		if _, err := nc.ChanSubscribe(subject, heard); err != nil {
			t.Fatal(err)
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	// What it publishes, and the answers to reply subjects that it names, stay in its account.
	for _, subject := range []string{"stolen.1", "ask.b.x", "_INBOX.x"} {
		if err := errors.Join(a.Publish(subject, nil), a.PublishRequest("ask.a.x", subject, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Request("ask.a.x", nil, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	for _, nc := range []*nats.Conn{a, f.core, b} {
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	for len(heard) > 0 {
		if m := <-heard; !strings.HasPrefix(m.Subject, "$SYS") {
			t.Errorf("heard %s", m.Subject)
		}
	}
}

func TestAccountsAreBounded(t *testing.T) {
	f := newFarm(t, natsserver.Limits{Connections: 2, Payload: 1000, Subscriptions: 10})
	key, _ := f.keys.admit(t, "a")
	closed := make(chan struct{}, 1)
	var first *nats.Conn
	for i := range 2 {
		nc, err := nats.Connect(f.URL(), natsserver.KeyOption(key), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { closed <- struct{}{} }))
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		t.Cleanup(nc.Close)
		first = nc
	}
	if nc, err := nats.Connect(f.URL(), natsserver.KeyOption(key)); err == nil {
		nc.Close()
		t.Error("a third connection was let in")
	}
	f.client(t, "b") // each account has its own bound
	if first.MaxPayload() != 1000 {
		t.Errorf("messages may have %d bytes", first.MaxPayload())
	}
	if _, err := first.Request("ask.a.x", nil, 5*time.Second); err != nil {
		t.Errorf("the limits took the service away: %v", err)
	}
}

func TestAClientIsCutAndItsKeyRefused(t *testing.T) {
	f := newFarm(t, natsserver.Limits{})
	cut := make(chan struct{}, 1)
	key, public := f.keys.admit(t, "a")
	nc, err := nats.Connect(f.URL(), natsserver.KeyOption(key), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { cut <- struct{}{} }))
	if err != nil {
		t.Fatal(err)
	}
	f.client(t, "b")
	for range 5 {
		if _, err := nc.Request("ask.a.x", []byte("12345"), 5*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	// The server counts a message after it has passed it on.
	var clients []door.Connection
	for counted := false; !counted && t.Context().Err() == nil; {
		if clients, err = f.Connections(); err != nil || len(clients) != 2 {
			t.Fatalf("connections %+v, %v", clients, err)
		}
		counted = slices.ContainsFunc(clients, func(c door.Connection) bool { return c.Account == "a" && c.Messages == 5 })
	}
	f.keys.write(public, "")
	for _, c := range clients {
		if c.Account != "a" {
			continue
		}
		if c.Key != public || c.Messages != 5 || c.Bytes < 25 {
			t.Errorf("connection %+v", c)
		}
		if err := f.Disconnect(c); err != nil {
			t.Fatal(err)
		}
	}
	<-cut
	if nc, err := nats.Connect(f.URL(), natsserver.KeyOption(key)); err == nil {
		nc.Close()
		t.Error("the key opens still")
	}
}
