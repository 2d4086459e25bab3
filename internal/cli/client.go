package cli

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/internal/tlsfiles"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/website/client"
)

// client returns a client of the running Tacho.
func (p *Program) client() (*client.Client, error) {
	address := p.config.Server
	if address == "" {
		d := datadir.Dir(p.config.Data)
		r, ok := d.Find()
		if !ok {
			return nil, fmt.Errorf("no Tacho runs on %s: start one with `tacho up`, or name one with --data or --server", d)
		}
		address, p.found = r.URL, &r
	}
	c, err := client.New(address, p.token(address))
	if err != nil {
		return nil, usage.Error{Err: err}
	}
	if err := p.secure(c, p.found); err != nil {
		return nil, err
	}
	c.Actor, c.Waits = p.actor(), p.waits
	return c, nil
}

// show prints what a read of the website found: as JSON if that is wanted, else for a person. step says what to do if there is no
// such thing; "" for nothing.
func show[T any](p *Program, asJSON bool, read func(*client.Client) (T, error), step string, print func(T) error) error {
	cl, err := p.client()
	if err != nil {
		return err
	}
	found, err := read(cl)
	switch {
	case err != nil:
		return next(err, step)
	case asJSON:
		return p.json(found)
	}
	return print(found)
}

// waits says why a stream waits, if a person can change that: too many streams are open at once.
func (p *Program) waits(err error, pause time.Duration) {
	var no *client.Error
	if errors.As(err, &no) && no.Status == http.StatusTooManyRequests {
		fmt.Fprintf(p.Stderr, "%v (trying again in %s)\n", err, pause.Round(time.Second))
	}
}

// token returns the token to send to a server. The token of the data directory is sent only to a Tacho on this machine.
func (p *Program) token(address string) string {
	if p.config.Token != "" || p.found == nil && !onThisMachine(address) {
		return p.config.Token
	}
	return datadir.Dir(p.config.Data).KnownToken()
}

// onThisMachine reports whether a URL leads to this machine.
func onThisMachine(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// secure makes a client trust the CA that the configuration names or, without one, the CA in the announcement r, which may be
// nil.
func (p *Program) secure(c *client.Client, r *datadir.Running) error {
	ca, name := []string{p.config.ServerCA}, ""
	if r != nil {
		name = r.ServerName
		if p.config.ServerCA == "" {
			ca = r.CA
		}
	}
	if len(ca) == 0 || ca[0] == "" || !strings.HasPrefix(c.URL(""), "https:") {
		return nil
	}
	authorities, err := tlsfiles.OpenAuthorities(p.logger(), ca...)
	if err != nil {
		return usage.Errorf("server_ca (--server-ca, TACHO_SERVER_CA): %w", err)
	}
	c.Secure(tlsfiles.Client{CA: authorities, Name: name}.Config())
	return nil
}
