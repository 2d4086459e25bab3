package config

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBoundsOfReadersAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"streams = 8":                            "readers.streams: at least readers.streams_per_address",
		"streams_per_address = 0":                "readers.streams_per_address: at least 1",
		"answers = 8":                            "readers.answers: at least readers.answers_per_address",
		"answers_per_address = 0":                "readers.answers_per_address: at least 1",
		"connections = 0":                        "readers.connections: at least 1",
		"connections = 1000":                     "readers.connections: at most 100",
		"wait = \"0s\"":                          "readers.wait",
		"wait = \"2m\"":                          "readers.wait",
		"wait = 5":                               "readers.wait: 5 has no unit",
		"trusted_proxies = [\"proxy\"]":          `readers.trusted_proxies: "proxy" is not an address or network`,
		"trusted_proxies = [\"10.0.0.0/99\"]":    "readers.trusted_proxies",
		"trusted_proxies = [\"fe80::1%eth0\"]":   "readers.trusted_proxies",
		"trusted_proxies = [\"::ffff:1.2.3.4\"]": "readers.trusted_proxies",
	} {
		_, err := Load(file(t, "[readers]\n"+text+"\n"), env(map[string]string{"HOME": "/h"}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", text, err, want)
		}
	}
}

func TestProxiesAreAddressesOrNetworks(t *testing.T) {
	c, err := Load(file(t, "[readers]\nstreams = 40\ntrusted_proxies = [\"127.0.0.1\", \"10.1.2.3/8\", \"fd00::/8\"]\n"), env(map[string]string{"HOME": "/h"}))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Readers.Trusted()
	if err != nil || c.Readers.Streams != 40 || c.Readers.Answers != 1000 {
		t.Errorf("%+v: %v", c.Readers, err)
	}
	var text []string
	for _, p := range got {
		text = append(text, p.String())
	}
	if diff := cmp.Diff([]string{"127.0.0.1/32", "10.0.0.0/8", "fd00::/8"}, text); diff != "" {
		t.Error(diff)
	}
	if got[0].Contains(netip.MustParseAddr("127.0.0.2")) {
		t.Error("an address is not a network")
	}
}
