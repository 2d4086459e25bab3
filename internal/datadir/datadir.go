// Package datadir reads and writes the data directory of a Tacho that runs by itself:
//
//	running.json      where it answers, while it runs
//	token             the bearer token of writes
//	nats.port         the port of its NATS server, kept so that collectors find it again
//	web.pem           the certificate that the website shows, nats.pem that of the NATS server
//	log/              the log
//	log.seen          how far the log was when it was seen last, log.scrub how far it was read again
//	log.repair/       a new log that a repair makes, log.damaged-TIME/ the files of an old one
//	postgres/         the projections
//	credentials/      the keys of the collectors of this machine
//	versions/         the programs of supervised collectors
//	cache/, slots/    artifacts, and where programs are measured
//
// A small file is replaced as a whole, so a process that is killed leaves the old one or the new one.
package datadir

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Dir is the path of a data directory.
type Dir string

// These files hold the certificates that servers show now. The operator's files may already hold new ones, or parts of new
// ones.
const (
	WebShown  = "web.pem"
	NATSShown = "nats.pem"
)

// PortFile keeps the port of the NATS server.
const PortFile = "nats.port"

const (
	runningFile = "running.json"
	tokenFile   = "token"
)

// Running says where a Tacho answers.
type Running struct {
	URL     string `json:"url"`
	NATSURL string `json:"nats_url"`
	// CA are files with the certificate that it shows, for commands on this machine; none without TLS. ServerName is a name
	// in the certificate if the host of URL is not in it.
	CA         []string `json:"ca,omitempty"`
	ServerName string   `json:"server_name,omitempty"`
	// NATSCA is a file with what clients of the log's server trust. NATSServerName is the name that they expect in its
	// certificate.
	NATSCA         string `json:"nats_ca,omitempty"`
	NATSServerName string `json:"nats_server_name,omitempty"`

	PID     int    `json:"pid"`
	Version string `json:"version"`
}

// Path returns the path of a file in the directory.
func (d Dir) Path(parts ...string) string {
	return filepath.Join(append([]string{string(d)}, parts...)...)
}

// Make makes the directory. Only its owner may enter it.
func (d Dir) Make() error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w; choose another with --data", err)
	}
	return nil
}

// Announce writes where a Tacho on this directory answers, for Find.
func (d Dir) Announce(r Running) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return d.Write(runningFile, string(text))
}

// Withdraw removes what Announce wrote.
func (d Dir) Withdraw() error {
	if err := os.Remove(d.Path(runningFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Find reads where a Tacho on this directory answers. It returns false if none is announced; one that was killed may still be
// announced.
func (d Dir) Find() (Running, bool) {
	var r Running
	text, err := os.ReadFile(d.Path(runningFile))
	if err != nil || json.Unmarshal(text, &r) != nil {
		return Running{}, false
	}
	return r, true
}

// Write replaces a small file that only its owner may read.
func (d Dir) Write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(d.Path(name)), 0o700); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(d.Path(name)), ".new-*")
	if err != nil {
		return err
	}
	_, err = temporary.WriteString(text)
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), d.Path(name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}

// Read returns the text of a small file without the space around it; empty when it cannot be read.
func (d Dir) Read(name string) string {
	text, err := os.ReadFile(d.Path(name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// KnownToken returns the bearer token of the directory; empty when it has none yet.
func (d Dir) KnownToken() string { return d.Read(tokenFile) }

// Token returns the bearer token of the directory. The first call makes it.
func (d Dir) Token() (string, error) {
	if t := d.KnownToken(); t != "" {
		return t, nil
	}
	t := rand.Text()
	return t, d.Write(tokenFile, t+"\n")
}
