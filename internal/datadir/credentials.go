package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/nkeys"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/tlsfiles"
)

// Credentials are all that a collector needs to work on any machine: its name, its lane, the URL of the log, and the secret
// half of its key. CA and ServerName are for TLS: the certificates in PEM that it trusts, and the name that it expects in
// the server's certificate.
type Credentials struct {
	Name    events.CollectorName `json:"name"`
	Target  events.Target        `json:"target"`
	Set     events.Set           `json:"set"`
	NATSURL string               `json:"nats_url,omitempty"`
	Seed    string               `json:"seed,omitempty"`

	CA         string `json:"ca,omitempty"`
	ServerName string `json:"server_name,omitempty"`
}

// credentialsName is the name of a collector's file below the directory.
func credentialsName(name events.CollectorName) string {
	return filepath.Join("credentials", string(name)+".json")
}

// CredentialsFile returns the path of a collector's credentials.
func (d Dir) CredentialsFile(name events.CollectorName) string { return d.Path(credentialsName(name)) }

// NextFile returns the path beside a file of credentials for the credentials with a new key. It holds them until the log is
// known to have that key.
func NextFile(file string) string { return file + ".next" }

// ReadCredentials reads a file of credentials. The error is os.ErrNotExist when there is none.
func ReadCredentials(file string) (Credentials, error) {
	var c Credentials
	text, err := os.ReadFile(file)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("the credentials in %s cannot be read: %w", file, err)
	}
	return c, nil
}

// NewCredentials returns the credentials of a collector and the public half of its key. If no credentials are kept here, it
// makes a new key; it writes nothing.
func (d Dir) NewCredentials(name events.CollectorName, target events.Target, set events.Set) (c Credentials, public string, err error) {
	c, err = ReadCredentials(d.CredentialsFile(name))
	if errors.Is(err, os.ErrNotExist) {
		err = c.NewKey()
	}
	if err != nil {
		return c, "", err
	}
	c.Name, c.Target, c.Set = name, target, set
	public, err = c.PublicKey()
	return c, public, err
}

// Keep writes the credentials of a collector.
func (d Dir) Keep(c Credentials) error { return d.keep(credentialsName(c.Name), c) }

// KeepNext writes the credentials to NextFile.
func (d Dir) KeepNext(c Credentials) error { return d.keep(NextFile(credentialsName(c.Name)), c) }

func (d Dir) keep(name string, c Credentials) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return d.Write(name, string(text)+"\n")
}

// NewKey gives the credentials another key.
func (c *Credentials) NewKey() error {
	key, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	seed, err := key.Seed()
	if err != nil {
		return err
	}
	c.Seed = string(seed)
	return nil
}

// PublicKey returns the public half of the key.
func (c Credentials) PublicKey() (string, error) {
	key, err := nkeys.FromSeed([]byte(c.Seed))
	if err != nil {
		return "", fmt.Errorf("the key of collector %s cannot be read: %w", c.Name, err)
	}
	return key.PublicKey()
}

// Trust adds what a collector elsewhere needs to trust the log's server: the certificates in the file ca, which is empty
// without TLS, and the name in the server's certificate.
func (c *Credentials) Trust(ca, name string) (err error) {
	c.CA, c.ServerName = "", ""
	if ca == "" {
		return nil
	}
	if c.CA, err = tlsfiles.Trust(ca); err != nil {
		return fmt.Errorf("the certificates that collector %s must trust cannot be read: %w", c.Name, err)
	}
	c.ServerName = name
	return nil
}
