package config

import (
	"strings"
	"testing"
)

func TestTLSIsConfigured(t *testing.T) {
	text := `
server_ca = "/etc/tacho/ca.pem"
[tls]
cert = "/etc/tacho/web.pem"
key = "/etc/tacho/web.key"
[nats]
cert = "/etc/tacho/nats.pem"
key = "/etc/tacho/nats.key"
client_ca = "/etc/tacho/clients.pem"
ca = "/etc/tacho/ca.pem"
client_cert = "/etc/tacho/me.pem"
client_key = "/etc/tacho/me.key"
server_name = "bench.example.org"
`
	c, err := Load(file(t, text), env(map[string]string{"HOME": "/h", "TACHO_NATS_CA": "/other.pem", "TACHO_TLS_KEY": "/new.key"}))
	if err != nil {
		t.Fatal(err)
	}
	if c.NATS.CA != "/other.pem" || c.TLS != (TLS{"/etc/tacho/web.pem", "/new.key"}) || c.NATS.ServerName != "bench.example.org" || c.ServerCA != "/etc/tacho/ca.pem" {
		t.Errorf("%+v", c)
	}
	shown, err := c.Redacted().TOML()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Load(file(t, string(shown)), env(map[string]string{"HOME": "/h"}))
	if err != nil || again.NATS != c.NATS || again.TLS != c.TLS {
		t.Errorf("what is shown is no valid file: %v\n%s", err, shown)
	}
}

func TestHalfAPairIsRefused(t *testing.T) {
	for variable, want := range map[string]string{
		"TACHO_TLS_CERT": "tls.cert and tls.key", "TACHO_NATS_KEY": "nats.cert and nats.key", "TACHO_NATS_CLIENT_CERT": "nats.client_cert and nats.client_key",
		"TACHO_NATS_CLIENT_CA": "nats.client_ca",
	} {
		_, err := Load("", env(map[string]string{"HOME": "/h", variable: "x"}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", variable, err)
		}
	}
}
