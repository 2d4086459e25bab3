package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog/door"
	logs "github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/internal/tlsfiles"
	"github.com/tachobench/tacho/internal/usage"
)

const (
	// sayEvery is the pause between two lines that say that a start still waits for a server.
	sayEvery = 3 * time.Second
	// tryEvery is the pause between two tries.
	tryEvery = 250 * time.Millisecond
	// unknownKeyWait is how long a key may be unknown: it may just have been registered or rotated.
	unknownKeyWait = 2 * time.Second
	// readingPause is the longest pause between two tries while the core reads the log.
	readingPause = time.Second
)

// access is how a process connects to its NATS server.
type access struct {
	// servers are URLs with commas between them.
	servers string
	// seed is the secret half of an nkey; empty if the URLs are enough.
	seed string
	// refused is the error text if the server does not know us.
	refused string
	// look has the CA that we trust, and the certificate that we show.
	look tlsfiles.Client
	// wait bounds how long we wait for a server that does not answer. say tells that we wait.
	wait time.Duration
	say  func(format string, args ...any)
}

// connectCore connects as the core to the cluster that the configuration names.
func (h *Host) connectCore(ctx context.Context, wait time.Duration) (*nats.Conn, error) {
	c := h.Config.NATS
	a := access{servers: c.URL, wait: wait, say: h.Say, refused: fmt.Sprintf(
		"the NATS server at %s refuses us: check the user and password in nats.url (TACHO_NATS_URL), or the key in nats.creds (TACHO_NATS_CREDS)", config.NATSHosts(c.URL))}
	var err error
	if a.seed, err = readSeed(c.Creds); err != nil {
		return nil, err
	}
	if a.look, err = h.natsClient(datadir.Credentials{}); err != nil {
		return nil, err
	}
	// A restarted server may not know its users for a moment, so try again then, too.
	return a.connect(ctx, nats.Name("tacho core"), nats.MaxReconnects(-1), soon(), nats.IgnoreAuthErrorAbort())
}

// connectSystem connects as a user of the cluster's system account.
func (h *Host) connectSystem(ctx context.Context, wait time.Duration) (*nats.Conn, error) {
	servers := h.Config.NATS.SystemURL
	a := access{servers: servers, wait: wait, say: h.Say, refused: fmt.Sprintf(
		"the NATS server at %s refuses us: check the user and password in nats.system_url (TACHO_NATS_SYSTEM_URL)", config.NATSHosts(servers))}
	var err error
	if a.look, err = h.natsClient(datadir.Credentials{}); err != nil {
		return nil, err
	}
	return a.connect(ctx, nats.Name("tacho core, system"), nats.MaxReconnects(-1), soon(), nats.IgnoreAuthErrorAbort())
}

// soon makes the core try one server after the other without the client's long pauses. There are few cores.
func soon() nats.Option {
	return func(o *nats.Options) error {
		o.ReconnectWait, o.ReconnectJitter, o.ReconnectJitterTLS = tryEvery, tryEvery, tryEvery
		return nil
	}
}

// readSeed reads the file that nats.creds names. Without a file it returns no seed.
func readSeed(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the NATS key: %w; check nats.creds (TACHO_NATS_CREDS)", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// connect connects. While no server answers, it says so and tries again. It waits for a core that is still reading the log as
// long as that takes; if ctx ends meanwhile, the error is door.ErrReading.
func (a access) connect(ctx context.Context, options ...nats.Option) (*nats.Conn, error) {
	if _, err := config.NATSServers(a.servers); err != nil {
		return nil, usage.Errorf("the address of NATS cannot be read: %w", err)
	}
	options = append(options, tlsOptions(a.look)...)
	options = append(natsserver.NoticeDead(), options...)
	keyless := options
	if a.seed != "" {
		key, err := nkeys.FromSeed([]byte(a.seed))
		if err != nil {
			return nil, fmt.Errorf("the key for NATS is not an nkey seed: %w", err)
		}
		options = append(options[:len(options):len(options)], natsserver.KeyOption(key))
	}
	w := newWaiting(a.wait, a.say)
	reading := retry.Pauses(readingPause/20, readingPause)
	for {
		nc, err := nats.Connect(a.servers, options...)
		if errors.Is(err, nats.ErrNkeysNotSupported) {
			// This server does not ask for keys.
			nc, err = nats.Connect(a.servers, keyless...)
		}
		pause := tryEvery
		switch {
		case err == nil:
			return nc, nil
		case errors.Is(err, natsserver.ErrNotYet):
			w.answered("the core at " + config.NATSHosts(a.servers) + " is still reading the log and does not know this key yet")
			if !retry.Sleep(ctx, reading.NextBackOff()) {
				return nil, fmt.Errorf("%w: %w", door.ErrReading, ctx.Err())
			}
			continue
		case errors.Is(err, nats.ErrAuthorization):
			if w.passed() >= min(a.wait, unknownKeyWait) {
				return nil, &control.RefusedError{Kind: control.Conflict, Reason: a.refused}
			}
			pause = unknownKeyWait / 2
		default:
			if said := explainTLS(err, a.servers, a.look); said != nil {
				return nil, said
			}
			err = fmt.Errorf("NATS does not answer at %s (%w): check nats.url (TACHO_NATS_URL), and that the server runs", config.NATSHosts(a.servers), plainly(err))
			if !w.goesOn("NATS does not answer at " + config.NATSHosts(a.servers)) {
				return nil, err
			}
		}
		if !retry.Sleep(ctx, pause) {
			return nil, ctx.Err()
		}
	}
}

// noStorage is the answer of a NATS server whose storage is smaller than the bound of the log. noPeers is that of a cluster in which too
// few nodes can take a stream; it says why in words.
const (
	noStorage = 10047
	noPeers   = 10005
)

// explainOpen adds the next step to an error of a server that refuses to make the log.
func explainOpen(err error) error {
	var low *logs.LimitError
	if errors.As(err, &low) {
		return fmt.Errorf("%w; set a higher one", err)
	}
	var answer *jetstream.APIError
	if !errors.As(err, &answer) {
		return err
	}
	switch lacks := strings.Contains(answer.Description, "insufficient storage"); {
	case answer.ErrorCode == noStorage, answer.ErrorCode == noPeers && lacks:
		return fmt.Errorf("the NATS server has no room for a log of nats.max_bytes: lower nats.max_bytes, or give the server more room (max_file_store): %w", err)
	case answer.ErrorCode == noPeers:
		return fmt.Errorf("too few nodes of the NATS cluster can take a copy of the log: start the others, or set a smaller nats.replicas (1, 3 or 5): %w", err)
	}
	return err
}

// plainly replaces the client library's error for a port without a listener.
func plainly(err error) error {
	if errors.Is(err, nats.ErrNoServers) {
		return errors.New("connection refused")
	}
	return err
}
