package config

import "errors"

// TLS is the certificate that the website and API show. Files are read again when they are renewed.
type TLS struct {
	// Cert is a file with the certificate in PEM, those of its issuers behind it; Key is one with its private key,
	// without a passphrase. Default: none, and HTTP without TLS. A pair that does not fit or has expired keeps
	// Tacho from starting; one that is renewed wrongly changes nothing, and is warned of.
	Cert string `toml:"cert" json:"cert"`
	Key  string `toml:"key" json:"key"`
}

// NATSTLS says how a connection to a NATS server is secured, on both of its ends. Files are read again when they are
// renewed.
type NATSTLS struct {
	// Cert and Key are the pair that the server inside `tacho up` shows; default: none, and no TLS. Every client from
	// the network must speak TLS then.
	Cert string `toml:"cert" json:"cert"`
	Key  string `toml:"key" json:"key"`
	// ClientCA is a file with the CAs that must have signed the certificate of every client of that server, besides
	// the key that a client proves. Default: clients need no certificate. The collectors that `tacho up` starts
	// show ClientCert.
	ClientCA string `toml:"client_ca" json:"client_ca"`
	// CA is a file with the CAs that clients believe, instead of those of the system: collectors, and the core on a
	// server of yours. Without it a collector believes what its credentials say. With it a server without TLS is
	// refused. `tacho up` hands the CA of its own certificate on to collectors, which outlasts a renewal.
	CA string `toml:"ca" json:"ca"`
	// ClientCert and ClientKey are the pair that clients show to a server that asks for one; default: none.
	ClientCert string `toml:"client_cert" json:"client_cert"`
	ClientKey  string `toml:"client_key" json:"client_key"`
	// ServerName is the name that clients expect in the server's certificate; default: what the credentials of a
	// collector say, else the host of the URL.
	ServerName string `toml:"server_name" json:"server_name"`
}

// tlsVariables returns the fields that variables set.
func (c *Config) tlsVariables() map[string]*string {
	return map[string]*string{
		"TACHO_TLS_CERT": &c.TLS.Cert, "TACHO_TLS_KEY": &c.TLS.Key, "TACHO_SERVER_CA": &c.ServerCA,
		"TACHO_NATS_CERT": &c.NATS.Cert, "TACHO_NATS_KEY": &c.NATS.Key, "TACHO_NATS_CLIENT_CA": &c.NATS.ClientCA,
		"TACHO_NATS_CA": &c.NATS.CA, "TACHO_NATS_CLIENT_CERT": &c.NATS.ClientCert, "TACHO_NATS_CLIENT_KEY": &c.NATS.ClientKey,
		"TACHO_NATS_SERVER_NAME": &c.NATS.ServerName,
	}
}

// CheckTLS returns an error when a half of a pair is missing. Whoever sets fields after Check, as flags do, asks again.
func (c Config) CheckTLS() error {
	switch {
	case (c.TLS.Cert == "") != (c.TLS.Key == ""):
		return errors.New("tls.cert and tls.key (--tls-cert, --tls-key): set both, or none for HTTP without TLS")
	case (c.NATS.Cert == "") != (c.NATS.Key == ""):
		return errors.New("nats.cert and nats.key (--nats-cert, --nats-key): set both, or none for a server without TLS")
	case c.NATS.ClientCA != "" && c.NATS.Cert == "":
		return errors.New("nats.client_ca (--nats-client-ca): clients show certificates over TLS alone: set nats.cert and nats.key, too")
	case (c.NATS.ClientCert == "") != (c.NATS.ClientKey == ""):
		return errors.New("nats.client_cert and nats.client_key (--nats-client-cert, --nats-client-key): set both, or none to show no certificate")
	}
	return nil
}
