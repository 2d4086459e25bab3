package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// Hook is a receiver of events: a program of yours that Tacho posts them to.
type Hook struct {
	// Name names the hook in alerts, metrics and the file with its place. A new hook begins with new events; one that had
	// this name before continues where that was.
	Name string `toml:"name" json:"name"`
	// URL is where events are posted. It must not have a user; only its scheme and host are ever shown.
	URL string `toml:"url" json:"url"`
	// SecretFile is a file with the secret that signs each post, at least 16 bytes. It is read at the start.
	SecretFile string `toml:"secret_file" json:"secret_file"`
	// On are the names of the types of events, without version, such as "job.finished". A "*" stands for any text:
	// "job.*". Results (test_cases.measured) are large.
	On []string `toml:"on" json:"on"`
	// Queue leaves only events about requests in this very queue, Account only those about requests of this account.
	Queue   events.QueueName   `toml:"queue,omitempty" json:"queue,omitempty"`
	Account events.AccountName `toml:"account,omitempty" json:"account,omitempty"`
}

// leastSecret is the least length of a hook's secret, in bytes.
const leastSecret = 16

func checkHooks(hooks []Hook) error {
	seen := map[string]bool{}
	for i, h := range hooks {
		if err := events.CheckToken("name", h.Name); err != nil {
			return fmt.Errorf("hook %d: %w", i+1, err)
		}
		if seen[h.Name] {
			return fmt.Errorf("hook %s: there are two with this name", h.Name)
		}
		seen[h.Name] = true
		if err := h.check(); err != nil {
			return fmt.Errorf("hook %s: %w", h.Name, err)
		}
	}
	return nil
}

// check returns an error that names the first invalid key. It never repeats the URL, because that may hold a token.
func (h Hook) check() error {
	u, err := url.Parse(h.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("url: write it as https://host/path")
	case u.User != nil:
		return errors.New("url: write it without a user and password; the signature says who posts")
	case h.SecretFile == "":
		return errors.New("secret_file: name a file with the secret that signs each post")
	case len(h.On) == 0:
		return fmt.Errorf("on: name types of events, such as %q", []string{"request.created", "job.*"})
	}
	for _, pattern := range h.On {
		if err := checkType(pattern); err != nil {
			return fmt.Errorf("on: %w", err)
		}
	}
	if h.Queue != "" && h.Queue != events.MainQueue {
		if err := events.CheckQueue(h.Queue); err != nil {
			return err
		}
	}
	if h.Account != "" {
		return events.CheckAccount(h.Account)
	}
	return nil
}

// checkType returns an error for a pattern that no type of event matches.
func checkType(pattern string) error {
	known := events.Names()
	matches := func(name string) bool {
		matched, err := path.Match(pattern, name)
		return err == nil && matched
	}
	if strings.ContainsAny(pattern, `[]?\`) || !slices.ContainsFunc(known, matches) {
		return fmt.Errorf("%q is no type of event: use %s, or a pattern such as job.*", pattern, strings.Join(known, ", "))
	}
	return nil
}

// Secret returns the secret of the hook. Errors name the file, never its content.
func (h Hook) Secret() ([]byte, error) {
	text, err := os.ReadFile(h.SecretFile)
	if err != nil {
		return nil, fmt.Errorf("hook %s: secret_file: %w", h.Name, err)
	}
	secret := strings.TrimRight(string(text), "\r\n")
	if len(secret) < leastSecret {
		return nil, fmt.Errorf("hook %s: secret_file: %s holds fewer than %d bytes", h.Name, h.SecretFile, leastSecret)
	}
	return []byte(secret), nil
}
