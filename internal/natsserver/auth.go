package natsserver

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"golang.org/x/time/rate"

	"github.com/tachobench/tacho/eventlog/door"
)

// Authenticator admits clients by their public key. It is asked at each connection and must not block.
type Authenticator interface {
	// Account returns the name of the account that the public key belongs to, or why the connection is
	// refused. With door.ErrReading the client is told to try again (ErrNotYet).
	Account(publicKey string) (name string, err error)
}

// ErrNotYet is what nats.Connect returns while the server cannot tell yet whether it knows the client's key. The text is
// one of the NATS server's own. Clients do not take it for a final refusal, and continue to reconnect.
var ErrNotYet = errors.New("nats: failed account registration")

// tellEvery is the least time between two log messages that clients have to wait: each client tries again and again.
const tellEvery = 10 * time.Second

// gate checks that a client holds the key that it names, and then asks the Authenticator. The core's own
// key lives as long as the process, and no one else knows it.
type gate struct {
	who        Authenticator
	accounts   *accounts
	core       nkeys.KeyPair
	corePublic string
	log        *slog.Logger
	// waits limits the log messages about clients that have to wait.
	waits rate.Sometimes
}

func newGate(who Authenticator, accounts *accounts, log *slog.Logger) (*gate, error) {
	core, err := nkeys.CreateUser()
	if err != nil {
		return nil, fmt.Errorf("make the core's key: %w", err)
	}
	public, err := core.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("make the core's key: %w", err)
	}
	return &gate{who: who, accounts: accounts, core: core, corePublic: public, log: log, waits: rate.Sometimes{Interval: tellEvery}}, nil
}

// Check implements server.Authentication.
func (g *gate) Check(c server.ClientAuthentication) bool {
	opts := c.GetOpts()
	if !holdsKey(opts.Nkey, opts.Sig, c.GetNonce()) {
		g.log.Warn("NATS client refused: no valid key", slog.Any("address", c.RemoteAddress()), slog.String("name", opts.Name))
		return false
	}
	if opts.Nkey == g.corePublic {
		c.RegisterUser(&server.User{Username: opts.Nkey})
		return true
	}
	name, err := g.who.Account(opts.Nkey)
	if errors.Is(err, door.ErrReading) {
		g.waits.Do(func() {
			g.log.Info("NATS clients have to wait", slog.Any("reason", err), slog.Any("address", c.RemoteAddress()), slog.String("key", opts.Nkey))
		})
		// The server has one text for all clients that Check refuses. An account that does not exist makes it send another
		// text first.
		c.RegisterUser(&server.User{Account: server.NewAccount("")})
		return false
	}
	if err != nil {
		g.log.Warn("NATS client refused", slog.Any("reason", err), slog.Any("address", c.RemoteAddress()), slog.String("key", opts.Nkey))
		return false
	}
	account, err := g.accounts.open(name)
	if err != nil {
		g.log.Error("NATS client refused: its account cannot be made", slog.String("account", name), slog.Any("error", err))
		return false
	}
	c.RegisterUser(&server.User{Username: opts.Nkey, Account: account})
	return true
}

// holdsKey reports whether sig is the signature of the nonce by the key.
func holdsKey(public, sig string, nonce []byte) bool {
	if public == "" || sig == "" || len(nonce) == 0 {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(sig)
	if err != nil {
		return false
	}
	key, err := nkeys.FromPublicKey(public)
	if err != nil {
		return false
	}
	return key.Verify(nonce, raw) == nil
}
