package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// hidden replaces a secret.
const hidden = "xxxxx"

// Redacted returns the configuration without passwords and tokens.
func (c Config) Redacted() Config {
	c.Token, c.GitHub.Token, c.GitHub.Secret = "", "", ""
	c.Database.URL, c.NATS.URL = RedactDatabase(c.Database.URL), RedactNATS(c.NATS.URL)
	c.NATS.SystemURL = RedactNATS(c.NATS.SystemURL)
	c.Server = redactServer(c.Server)
	c.Watchdog.Webhook = RedactWebhook(c.Watchdog.Webhook)
	c.Hooks = slices.Clone(c.Hooks)
	for i, h := range c.Hooks {
		c.Hooks[i].URL = RedactWebhook(h.URL)
	}
	return c
}

// NATSServers parses a comma-separated list of URLs of NATS servers; "nats://" may be left out. An error names the
// place in the list and never repeats its text, because that may hold a password.
func NATSServers(list string) ([]*url.URL, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	var servers []*url.URL
	for i, text := range strings.Split(list, ",") {
		text = strings.TrimSpace(text)
		if !strings.Contains(text, "://") {
			text = "nats://" + text
		}
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || misplaced(u) {
			return nil, fmt.Errorf("server %d of the list is no URL: use the form nats://host:port, or nats://user:password@host:port", i+1)
		}
		servers = append(servers, u)
	}
	return servers, nil
}

// NATSHosts returns a list of servers as it may be shown to everybody: without users and passwords.
func NATSHosts(list string) string {
	servers, err := NATSServers(list)
	if err != nil {
		return "an address that cannot be read"
	}
	hosts := make([]string, 0, len(servers))
	for _, u := range servers {
		hosts = append(hosts, u.Scheme+"://"+u.Host)
	}
	return strings.Join(hosts, ",")
}

// NATSHasUser reports whether a server of the list is named with a user.
func NATSHasUser(list string) bool {
	servers, err := NATSServers(list)
	return err == nil && slices.ContainsFunc(servers, func(u *url.URL) bool { return u.User != nil })
}

// misplaced reports whether part of a password was parsed as path, query or fragment, because its "/", "?" or "#" was
// not escaped.
func misplaced(u *url.URL) bool { return strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") }

// RedactNATS returns a list of NATS servers that is safe to show. A user without a password is a token, and is hidden
// as well.
func RedactNATS(list string) string {
	servers, err := NATSServers(list)
	if err != nil {
		return "(not a list of URLs)"
	}
	shown := make([]string, 0, len(servers))
	for _, u := range servers {
		if u.User != nil {
			if _, ok := u.User.Password(); ok {
				u.User = url.UserPassword(u.User.Username(), hidden)
			} else {
				u.User = url.User(hidden)
			}
		}
		shown = append(shown, u.String())
	}
	return strings.Join(shown, ",")
}

// redactServer returns a URL of a Tacho that is safe to show: it may hold a password for a proxy.
func redactServer(address string) string {
	if !strings.Contains(address, "@") {
		return address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || misplaced(u) {
		return "(not a plain URL)"
	}
	return u.Redacted()
}

// keyword finds passwords in the other form of a Postgres connection string: "host=h password='p' sslpassword=q".
var keyword = regexp.MustCompile(`(?i)(password\s*=\s*)('(?:[^'\\]|\\.)*'?|(?:\\.|[^\s\\])*)`)

// RedactDatabase returns an address of a Postgres that is safe to show.
func RedactDatabase(address string) string {
	if !strings.Contains(address, "://") {
		return keyword.ReplaceAllString(address, "${1}"+hidden)
	}
	u, err := url.Parse(address)
	if err != nil || misplaced(u) {
		return "(not a plain URL)"
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "(not a plain URL)"
	}
	for name := range query {
		if strings.Contains(strings.ToLower(name), "password") {
			query.Set(name, hidden)
			u.RawQuery = query.Encode()
		}
	}
	return u.Redacted()
}
