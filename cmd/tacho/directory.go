package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

// directory is the data directory of a Tacho that runs by itself:
//
//	running.json      where it answers, while it runs
//	token             the bearer token of writes
//	nats.port         the port of its NATS server, kept so that collectors find it again
//	web.pem           the certificate that the website shows, nats.pem that of the NATS server
//	log/              the log
//	postgres/         the projections
//	credentials/      the keys of the collectors of this machine
//	cache/, slots/    artifacts, and where programs are measured
type directory string

// running is what running.json says.
type running struct {
	URL     string `json:"url"`
	NATSURL string `json:"nats_url"`
	// CA are files with the certificate that it shows, which this machine's commands believe; none without TLS.
	// ServerName is a name in it, where the host of URL is none.
	CA         []string `json:"ca,omitempty"`
	ServerName string   `json:"server_name,omitempty"`
	// NATSCA is a file that clients of the log's server believe, NATSServerName what they find in its certificate.
	NATSCA         string `json:"nats_ca,omitempty"`
	NATSServerName string `json:"nats_server_name,omitempty"`

	PID     int    `json:"pid"`
	Version string `json:"version"`
}

func (d directory) path(parts ...string) string {
	return filepath.Join(append([]string{string(d)}, parts...)...)
}

func (d directory) make() error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w; choose another with --data", err)
	}
	return nil
}

// announce writes where the program answers. The file is replaced as a whole.
func (d directory) announce(r running) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return d.write("running.json", string(text))
}

func (d directory) withdraw() error {
	if err := os.Remove(d.path("running.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// find reads where a program on this directory answers; false when none does.
func (d directory) find() (running, bool) {
	var r running
	text, err := os.ReadFile(d.path("running.json"))
	if err != nil || json.Unmarshal(text, &r) != nil {
		return running{}, false
	}
	return r, true
}

// write replaces a small file that only its owner may read.
func (d directory) write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(d.path(name)), 0o700); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(d.path(name)), ".new-*")
	if err != nil {
		return err
	}
	_, err = temporary.WriteString(text)
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), d.path(name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}

func (d directory) read(name string) string {
	text, err := os.ReadFile(d.path(name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// token returns the bearer token of the directory, made at the first call.
func (d directory) token() (string, error) {
	if t := d.read("token"); t != "" {
		return t, nil
	}
	t := rand.Text()
	return t, d.write("token", t+"\n")
}

// credentials are all that a collector must have to work, on whichever machine: who it is, which lane it
// serves, where the log is, and the secret half of its key. CA and ServerName say by what it knows the log's server:
// certificates in PEM, and a name in the one that is shown.
type credentials struct {
	Name    events.CollectorName `json:"name"`
	Target  events.Target        `json:"target"`
	Set     events.Set           `json:"set"`
	NATSURL string               `json:"nats_url,omitempty"`
	Seed    string               `json:"seed,omitempty"`

	CA         string `json:"ca,omitempty"`
	ServerName string `json:"server_name,omitempty"`
}

func credentialsFile(name events.CollectorName) string {
	return filepath.Join("credentials", string(name)+".json")
}

func readCredentials(path string) (credentials, error) {
	var c credentials
	text, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("the credentials in %s cannot be read: %w", path, err)
	}
	return c, nil
}

// newCredentials returns the credentials of a collector with a new key, or those that are there.
func (d directory) newCredentials(name events.CollectorName, target events.Target, set events.Set) (c credentials, public string, err error) {
	c, err = readCredentials(d.path(credentialsFile(name)))
	if errors.Is(err, os.ErrNotExist) {
		key, err := nkeys.CreateUser()
		if err != nil {
			return c, "", err
		}
		seed, err := key.Seed()
		if err != nil {
			return c, "", err
		}
		c.Seed = string(seed)
	} else if err != nil {
		return c, "", err
	}
	c.Name, c.Target, c.Set = name, target, set
	key, err := nkeys.FromSeed([]byte(c.Seed))
	if err != nil {
		return c, "", fmt.Errorf("the key of collector %s cannot be read: %w", name, err)
	}
	public, err = key.PublicKey()
	return c, public, err
}

// keep writes the credentials of a collector.
func (d directory) keep(c credentials) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return d.write(credentialsFile(c.Name), string(text)+"\n")
}

// client returns a client of the running Tacho.
func (p *program) client() (*client.Client, error) {
	address := p.config.Server
	if address == "" {
		d := directory(p.config.Data)
		r, ok := d.find()
		if !ok {
			return nil, fmt.Errorf("no Tacho runs on %s: start one with `tacho up`, or name one with --data or --server", d)
		}
		address, p.found = r.URL, &r
	}
	c, err := client.New(address, p.token(address))
	if err != nil {
		return nil, usageError{err}
	}
	if err := p.secure(c, p.found); err != nil {
		return nil, err
	}
	c.Actor, c.Waits = p.actor(), p.waits
	return c, nil
}

// waits says why a stream stands still, where that is for a person to mend: too much is open at once.
func (p *program) waits(err error, pause time.Duration) {
	var no *client.Error
	if errors.As(err, &no) && no.Status == http.StatusTooManyRequests {
		fmt.Fprintf(p.stderr, "%v (trying again in %s)\n", err, pause.Round(time.Second))
	}
}

// token returns the token to send to a server: that of the directory is for a Tacho of this machine, and nobody
// else's business.
func (p *program) token(address string) string {
	if p.config.Token != "" || p.found == nil && !onThisMachine(address) {
		return p.config.Token
	}
	return directory(p.config.Data).read("token")
}

// onThisMachine reports whether a URL leads no further than to this machine.
func onThisMachine(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
