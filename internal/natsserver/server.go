// Package natsserver runs a NATS server with JetStream inside this process.
//
// The server keeps the log and is set up for that. It syncs to disk before it acknowledges. It alone uses its
// directory: the NATS server itself takes no lock, and two of them on one directory destroy it. It
// never starts the directory of a stand-alone server as a member of a cluster, nor the other way round:
// the cluster would delete the stand-alone streams as orphans.
//
// The core of Tacho connects inside the process (Connect). Other clients connect over the network if Listen is
// set. They prove a key (nkeys: the server sends a nonce, the client signs it), and the Authenticator says
// at that moment which account the key belongs to. So a collector that was registered a second ago is let in
// without any configuration file.
//
// Each such account sees its own part of the core's Services and nothing else, not even JetStream. Permissions
// would not be enough: a client names the reply subject of its question, and the core or the server
// answers there with its own rights. Between accounts the server replaces the reply subject.
package natsserver

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/tachobench/tacho/internal/filelock"
)

// MaxPayload is the largest message in bytes that the server takes.
const MaxPayload = 8 << 20

// readyTimeout bounds the start. It is long because the recovery of a large log after a crash reads all of it.
const readyTimeout = 2 * time.Minute

// Config says how to run the server.
type Config struct {
	// Dir is the store directory; it is created. One process at a time can use it.
	Dir string
	// Listen is "host:port" for clients of other processes; port 0 chooses a free one. If it is empty, there is no port,
	// and only Connect works. An address that other machines reach needs Auth.
	Listen string
	// TLS, if set, is required of every client that connects over the network.
	TLS *tls.Config
	// Auth admits the clients of other processes. Nil admits every client, with all rights.
	Auth Authenticator
	// Services are what the admitted clients reach; Limits, what each of their accounts may take.
	Services []Service
	Limits   Limits
	// Unsynced leaves syncing to the operating system: a power failure can lose an acknowledged event.
	// For tests only.
	Unsynced bool
	// MaxStore bounds what all streams together take on disk; 0 means that they are bounded by their own limits alone.
	MaxStore int64
	// Cluster makes the server a member of a cluster. With nil it stands alone.
	Cluster *Membership
	// Log receives the server's own messages; nil discards them.
	Log *slog.Logger
}

// Membership is a server's place in a cluster.
type Membership struct {
	// Cluster is the name that all members share; Server is the name of this one.
	Cluster, Server string
	// Listen is "host:port" for the other members; Routes are their URLs ("nats://host:port").
	Listen string
	Routes []string
}

// Server is a running server.
type Server struct {
	ns   *server.Server
	lock *filelock.Lock
	log  *slog.Logger
	auth *gate
	// store is how the streams are kept.
	store server.JetStreamConfig

	// mu guards broken: what the server said when it stopped storing; empty while it stores.
	mu     sync.Mutex
	broken string
}

// Start starts the server and waits until it is ready. Its errors say what to do if the directory belongs to
// another process or to the other kind of server, or if the address is taken.
func Start(cfg Config) (_ *Server, err error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	opts, err := options(cfg)
	if err != nil {
		return nil, err
	}
	lock, err := takeDirectory(cfg.Dir, kindOf(cfg))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			lock.Release()
		}
	}()
	s := &Server{lock: lock, log: cfg.Log, store: server.JetStreamConfig{
		StoreDir: opts.StoreDir, MaxMemory: opts.JetStreamMaxMemory, MaxStore: opts.JetStreamMaxStore, SyncAlways: opts.SyncAlways,
		Strict: !opts.NoJetStreamStrict, CompressOK: true,
	}}
	if cfg.Auth != nil {
		clients := &accounts{services: cfg.Services, limits: cfg.Limits}
		if s.auth, err = newGate(cfg.Auth, clients, cfg.Log); err != nil {
			return nil, err
		}
		opts.CustomClientAuthentication = s.auth
		opts.AlwaysEnableNonce = true
	}
	if s.ns, err = server.NewServer(opts); err != nil {
		return nil, fmt.Errorf("start the NATS server in %s: %w", cfg.Dir, err)
	}
	s.ns.SetLoggerV2(&slogger{log: cfg.Log, gated: s.auth != nil, broken: s.brokenBy}, false, false, false)
	s.ns.Start()
	if !s.ns.ReadyForConnections(readyTimeout) {
		s.ns.Shutdown()
		s.ns.WaitForShutdown()
		return nil, fmt.Errorf("the NATS server in %s was not ready after %s: is the address %q free?", cfg.Dir, readyTimeout, cfg.Listen)
	}
	if s.auth != nil {
		if err := s.auth.accounts.export(s.ns); err != nil {
			s.ns.Shutdown()
			s.ns.WaitForShutdown()
			return nil, err
		}
	}
	return s, nil
}

// options returns the options of the NATS server for a configuration.
func options(cfg Config) (*server.Options, error) {
	opts := &server.Options{
		ServerName: "tacho", NoSigs: true, NoLog: true, DontListen: cfg.Listen == "",
		JetStream: true, StoreDir: cfg.Dir, MaxPayload: MaxPayload,
		// The stream has its own limit in bytes. A second limit here would only refuse its creation, or a higher limit.
		JetStreamMaxStore: cmp.Or(cfg.MaxStore, 1<<50), JetStreamMaxMemory: 1 << 30,
		SyncAlways:      !cfg.Unsynced,
		JetStreamLimits: server.JSLimitOpts{DefaultMaxConsumers: -1},
		PingInterval:    clientPingEvery, MaxPingsOut: routePingsOut,
	}
	if cfg.Listen != "" {
		host, port, err := splitListen(cfg.Listen)
		if err != nil {
			return nil, err
		}
		if cfg.Auth == nil && !loopback(host) {
			return nil, fmt.Errorf("listen for NATS clients on %s: other machines reach this address, so clients must prove a key: register them, or listen on 127.0.0.1", cfg.Listen)
		}
		opts.Host, opts.Port = host, port
		if cfg.TLS != nil {
			opts.TLSConfig, opts.TLS, opts.TLSTimeout = cfg.TLS, true, 5
		}
	}
	if m := cfg.Cluster; m != nil {
		host, port, err := splitListen(m.Listen)
		if err != nil {
			return nil, err
		}
		opts.ServerName = m.Server
		opts.Cluster = server.ClusterOpts{Name: m.Cluster, Host: host, Port: port, PingInterval: routePingEvery}
		for _, r := range m.Routes {
			opts.Routes = append(opts.Routes, server.RoutesFromStr(r)...)
		}
	}
	return opts, nil
}

func splitListen(addr string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(addr)
	if err == nil {
		port, err = strconv.Atoi(p)
	}
	if err != nil {
		return "", 0, fmt.Errorf("NATS address %q: use host:port, such as 127.0.0.1:4222", addr)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Connect returns a connection inside this process, with all rights. It reconnects for ever.
func (s *Server) Connect(opts ...nats.Option) (*nats.Conn, error) {
	all := append([]nats.Option{nats.Name("tacho core"), nats.InProcessServer(s.ns)}, s.defaults()...)
	all = append(all, nats.PingInterval(0)) // a server that stands still stands still with its clients here
	nc, err := nats.Connect("", append(all, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to the NATS server in this process: %w", err)
	}
	return nc, nil
}

// A peer that stands still, or that a cut cable separates, closes no connection. Whoever got no answer to as many pings as it
// has out leaves it at the time of the next one.
const (
	// pingEvery is how often a client pings its server. It leaves it after two to four seconds.
	pingEvery = 2 * time.Second
	pingsOut  = 1
	// routePingEvery is how often servers ping each other. One leaves a route after two to three seconds, so that it dials anew soon
	// after the cable is mended.
	routePingEvery = time.Second
	routePingsOut  = 2
	// clientPingEvery is how often a server looks at a connection of a client, and pings one that said nothing. Nothing waits for
	// the end of a dead one: who serves what is told by heartbeats.
	clientPingEvery = 5 * time.Second
	// writeWithin bounds a write to a connection whose peer takes nothing. The client's pings wait for it.
	writeWithin = 4 * time.Second
	// dialWithin bounds one try to connect. A server that stands still is still connected to: its kernel does that.
	dialWithin = 2 * time.Second
)

// NoticeDead returns the options with which a client notices within 5 s that its server is gone, so that it leaves it for
// another one.
func NoticeDead() []nats.Option {
	return []nats.Option{
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(pingsOut), nats.Timeout(dialWithin),
		nats.FlusherTimeout(writeWithin), nats.ReconnectOnFlusherError(),
	}
}

// Options returns the options with which the core connects to URL over the network, with all rights.
func (s *Server) Options() []nats.Option { return s.defaults() }

func (s *Server) defaults() []nats.Option {
	opts := []nats.Option{
		nats.MaxReconnects(-1), nats.ReconnectWait(50 * time.Millisecond), nats.ReconnectJitter(50*time.Millisecond, 50*time.Millisecond),
		// Only this handler learns of a refused publish: the caller sees a timeout.
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			s.log.Warn("NATS connection", slog.Any("error", err))
		}),
	}
	if s.auth != nil {
		opts = append(opts, KeyOption(s.auth.core))
	}
	return append(opts, NoticeDead()...)
}

// KeyOption makes a connection prove the key to its server.
func KeyOption(key nkeys.KeyPair) nats.Option {
	return func(o *nats.Options) error {
		public, err := key.PublicKey()
		if err != nil {
			return fmt.Errorf("nkey: %w", err)
		}
		return nats.Nkey(public, key.Sign)(o)
	}
}

// URL returns where clients of other processes connect; empty if the server does not listen.
func (s *Server) URL() string {
	if s.ns.Addr() == nil {
		return ""
	}
	return s.ns.ClientURL()
}

// Shutdown stops the server, writes its indexes and frees the directory. Close connections before.
func (s *Server) Shutdown() {
	s.ns.Shutdown()
	s.ns.WaitForShutdown()
	s.lock.Release()
}
