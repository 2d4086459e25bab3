package config

import (
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Readers bounds what the readers of the website may ask of it at once. An address is that of a client. All IPv6
// addresses of a /64 count as one, because a network gives a whole /64 to one machine.
type Readers struct {
	// Streams is how many streams (of events, of the output of jobs, of pages that are open in a browser) may be open
	// in all. Each takes some memory and a connection of its reader, but no connection to Postgres.
	Streams int `toml:"streams" json:"streams"`
	// StreamsPerAddress is how many of them one address may have. Each open page has one: beyond this number, people
	// behind one address see pages that are not live.
	StreamsPerAddress int `toml:"streams_per_address" json:"streams_per_address"`
	// Answers is how many pages and reads of the API may be under way in all, waiting for their turn or being sent. The
	// last quarter is reserved for addresses with few of them.
	Answers int `toml:"answers" json:"answers"`
	// AnswersPerAddress is how many of them one address may have. Beyond it a program that reads much at once gets
	// status 429. If it is too low, so do people behind one address.
	AnswersPerAddress int `toml:"answers_per_address" json:"answers_per_address"`
	// Wait is how long a read waits for its turn before the website tells it to come back. Addresses take turns.
	Wait Duration `toml:"wait" json:"wait"`
	// Connections is how many connections to Postgres long reads have, and so how many of them run at once: streams
	// that catch up, pages of the log, comparisons. Other pages have their own connections.
	Connections int `toml:"connections" json:"connections"`
	// TrustedProxies are the addresses or networks (10.0.0.0/8) of proxies whose X-Forwarded-For the website trusts.
	// Default: none. All clients of a proxy that is not named here count as one address and share its bounds. If a
	// named network has other machines in it, those can claim any address.
	TrustedProxies []string `toml:"trusted_proxies" json:"trusted_proxies"`
}

// DefaultReaders returns the default bounds.
func DefaultReaders() Readers {
	return Readers{
		Streams: 1000, StreamsPerAddress: 32, Answers: 1000, AnswersPerAddress: 64, Wait: Duration(5 * time.Second), Connections: 4,
	}
}

func (r Readers) check() error {
	for _, bound := range []struct {
		key     string
		value   int
		least   int
		atLeast string
	}{
		{"streams_per_address", r.StreamsPerAddress, 1, "1"},
		{"streams", r.Streams, r.StreamsPerAddress, "readers.streams_per_address"},
		{"answers_per_address", r.AnswersPerAddress, 1, "1"},
		{"answers", r.Answers, r.AnswersPerAddress, "readers.answers_per_address"},
		{"connections", r.Connections, 1, "1"},
	} {
		if bound.value < bound.least {
			return fmt.Errorf("readers.%s: at least %s", bound.key, bound.atLeast)
		}
	}
	if r.Connections > 100 {
		return errors.New("readers.connections: at most 100, and fewer than the max_connections of your Postgres")
	}
	if r.Wait.Std() < time.Second || r.Wait.Std() > time.Minute {
		return errors.New("readers.wait: from 1s to 1m")
	}
	_, err := r.Trusted()
	return err
}

// Trusted returns the networks of TrustedProxies.
func (r Readers) Trusted() ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, text := range r.TrustedProxies {
		network, err := netip.ParsePrefix(text)
		if one, alone := netip.ParseAddr(text); alone == nil && one.Zone() == "" {
			network, err = netip.PrefixFrom(one, one.BitLen()), nil
		}
		if err != nil || network.Addr().Is4In6() {
			return nil, fmt.Errorf("readers.trusted_proxies: %q is not an address or network: write it as 10.0.0.1 or 10.0.0.0/8", text)
		}
		list = append(list, network.Masked())
	}
	return list, nil
}
