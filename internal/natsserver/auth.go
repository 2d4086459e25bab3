package natsserver

import (
	"encoding/base64"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// Authenticator admits clients by their public key. It is asked at each connection and must not block.
type Authenticator interface {
	// Account returns the name of the account that the holder of the public key belongs to; false refuses the
	// connection.
	Account(publicKey string) (name string, ok bool)
}

// gate checks that a client holds the key that it names, and then asks the Authenticator. The core's own
// key lives as long as the process and is known to nobody else.
type gate struct {
	who        Authenticator
	accounts   *accounts
	core       nkeys.KeyPair
	corePublic string
	log        *slog.Logger
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
	return &gate{who: who, accounts: accounts, core: core, corePublic: public, log: log}, nil
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
	name, ok := g.who.Account(opts.Nkey)
	if !ok {
		g.log.Warn("NATS client refused: unknown key", slog.Any("address", c.RemoteAddress()), slog.String("key", opts.Nkey))
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
