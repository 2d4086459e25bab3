package cli

import (
	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/internal/usage"
)

// webTLS are the flags of a command that serves the website.
type webTLS struct {
	Cert string `help:"Certificate of the website and API, in PEM; read again when it is renewed." name:"tls-cert" type:"path" placeholder:"FILE"`
	Key  string `help:"Private key of that certificate." name:"tls-key" type:"path" placeholder:"FILE"`
}

func (f webTLS) apply(c *config.Config) error {
	override(&c.TLS.Cert, f.Cert)
	override(&c.TLS.Key, f.Key)
	return flagsFit(*c)
}

// natsServerTLS are the flags of a command that runs a NATS server.
type natsServerTLS struct {
	Cert     string `help:"Certificate that the log's server shows to collectors on other machines, in PEM; read again when it is renewed." name:"nats-cert" type:"path" placeholder:"FILE"`
	Key      string `help:"Private key of that certificate." name:"nats-key" type:"path" placeholder:"FILE"`
	ClientCA string `help:"CA of the collectors' certificates; with it, every collector must show one." name:"nats-client-ca" type:"path" placeholder:"FILE"`
}

func (f natsServerTLS) apply(c *config.Config) error {
	override(&c.NATS.Cert, f.Cert)
	override(&c.NATS.Key, f.Key)
	override(&c.NATS.ClientCA, f.ClientCA)
	return flagsFit(*c)
}

// natsClientTLS are the flags of a command that connects to a NATS server.
type natsClientTLS struct {
	CA         string `help:"CA of the log's server; default: nats.ca, else the one in the credentials." name:"nats-ca" type:"path" placeholder:"FILE"`
	ServerName string `help:"Name in the certificate of the log's server; default: nats.server_name, else the one in the credentials, else the host of the URL." name:"nats-server-name" placeholder:"NAME"`
	ClientCert string `help:"Certificate to show to the log's server." name:"nats-client-cert" type:"path" placeholder:"FILE"`
	ClientKey  string `help:"Private key of that certificate." name:"nats-client-key" type:"path" placeholder:"FILE"`
}

func (f natsClientTLS) apply(c *config.Config) error {
	override(&c.NATS.CA, f.CA)
	override(&c.NATS.ServerName, f.ServerName)
	override(&c.NATS.ClientCert, f.ClientCert)
	override(&c.NATS.ClientKey, f.ClientKey)
	return flagsFit(*c)
}

// arguments returns the flags as they were given.
func (f natsClientTLS) arguments() map[string]string {
	return map[string]string{
		"--nats-ca": f.CA, "--nats-server-name": f.ServerName, "--nats-client-cert": f.ClientCert, "--nats-client-key": f.ClientKey,
	}
}

func override(setting *string, flag string) {
	if flag != "" {
		*setting = flag
	}
}

func flagsFit(c config.Config) error {
	if err := c.CheckTLS(); err != nil {
		return usage.Error{Err: err}
	}
	return nil
}

// applyTLS applies the flags. It returns wrong usage if collectors run on this machine, the log's server requires a
// certificate of them, and they have none.
func (c *upCmd) applyTLS(conf *config.Config) error {
	if err := c.TLS.apply(conf); err != nil {
		return err
	}
	if err := c.NATSTLS.apply(conf); err != nil {
		return err
	}
	n := conf.NATS
	if n.URL == "" && n.ClientCA != "" && n.ClientCert == "" && c.Collectors != 0 {
		return usage.Errorf("nats.client_ca requires a certificate of every collector, and the collectors of this machine have none: set nats.client_cert and nats.client_key, or run no collectors with --collectors 0")
	}
	return nil
}
