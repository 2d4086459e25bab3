package config

import "errors"

// TLS is the certificate of the website and API. The files are read again when they are renewed.
type TLS struct {
	// Cert is a file with the certificate in PEM, followed by those of its issuers. Key is a file with its private key,
	// without a passphrase. Default: none, and HTTP without TLS. With a pair that does not match or has expired Tacho
	// does not start. If a renewed pair is wrong, Tacho keeps the old one and logs a warning.
	Cert string `toml:"cert" json:"cert"`
	Key  string `toml:"key" json:"key"`
}

// NATSTLS says how connections to a NATS server are secured, on both ends. The files are read again when they are
// renewed.
type NATSTLS struct {
	// Cert and Key are the pair of the server inside `tacho up`; default: none, and no TLS. With a pair every client
	// from the network must use TLS.
	Cert string `toml:"cert" json:"cert"`
	Key  string `toml:"key" json:"key"`
	// ClientCA is a file with CAs. Every client of that server then needs a certificate signed by one of them, in
	// addition to its key. Default: clients need no certificate. The collectors that `tacho up` starts use ClientCert.
	ClientCA string `toml:"client_ca" json:"client_ca"`
	// CA is a file with the CAs that clients trust, instead of those of the system: collectors, and the core on an
	// external server. Without it a collector trusts the CAs in its credentials. With it clients refuse a server
	// without TLS. `tacho up` passes the CA of its own certificate on to collectors; that CA stays valid when the
	// certificate is renewed.
	CA string `toml:"ca" json:"ca"`
	// ClientCert and ClientKey are the pair of clients for a server that asks for one; default: none.
	ClientCert string `toml:"client_cert" json:"client_cert"`
	ClientKey  string `toml:"client_key" json:"client_key"`
	// ServerName is the name that clients expect in the server's certificate; default: the name in a collector's
	// credentials, else the host of the URL.
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

// CheckTLS returns an error when half of a pair is missing. Call it again after you change fields, as the flags do.
func (c Config) CheckTLS() error {
	switch {
	case (c.TLS.Cert == "") != (c.TLS.Key == ""):
		return errors.New("tls.cert and tls.key (--tls-cert, --tls-key): set both, or none for HTTP without TLS")
	case (c.NATS.Cert == "") != (c.NATS.Key == ""):
		return errors.New("nats.cert and nats.key (--nats-cert, --nats-key): set both, or none for a server without TLS")
	case c.NATS.ClientCA != "" && c.NATS.Cert == "":
		return errors.New("nats.client_ca (--nats-client-ca): clients can show certificates only over TLS: also set nats.cert and nats.key")
	case (c.NATS.ClientCert == "") != (c.NATS.ClientKey == ""):
		return errors.New("nats.client_cert and nats.client_key (--nats-client-cert, --nats-client-key): set both, or none to show no certificate")
	}
	return nil
}
