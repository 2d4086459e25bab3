package natsserver

import (
	"encoding/base64"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// Permissions lists the subjects that a client may publish and subscribe to; everything else is denied.
type Permissions struct {
	Publish   []string
	Subscribe []string
}

// Authenticator admits clients by their public key. It is asked at each connection and must not block.
type Authenticator interface {
	// Permissions returns what the holder of the public key may do; nil permissions are all rights, and
	// false refuses the connection.
	Permissions(publicKey string) (*Permissions, bool)
}

// gate checks that a client holds the key that it names, and then asks the Authenticator. The core's own
// key lives as long as the process and is known to nobody else.
type gate struct {
	who        Authenticator
	core       nkeys.KeyPair
	corePublic string
	log        *slog.Logger
}

func newGate(who Authenticator, log *slog.Logger) (*gate, error) {
	core, err := nkeys.CreateUser()
	if err != nil {
		return nil, fmt.Errorf("make the core's key: %w", err)
	}
	public, err := core.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("make the core's key: %w", err)
	}
	return &gate{who: who, core: core, corePublic: public, log: log}, nil
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
	p, ok := g.who.Permissions(opts.Nkey)
	if !ok {
		g.log.Warn("NATS client refused: unknown key", slog.Any("address", c.RemoteAddress()), slog.String("key", opts.Nkey))
		return false
	}
	c.RegisterUser(&server.User{Username: opts.Nkey, Permissions: p.server()})
	return true
}

// server returns the permissions in the server's form. An empty list must deny all, and not allow all.
func (p *Permissions) server() *server.Permissions {
	if p == nil {
		return nil
	}
	only := func(allow []string) *server.SubjectPermission {
		if len(allow) == 0 {
			return &server.SubjectPermission{Deny: []string{">"}}
		}
		return &server.SubjectPermission{Allow: allow}
	}
	return &server.Permissions{Publish: only(p.Publish), Subscribe: only(p.Subscribe)}
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
