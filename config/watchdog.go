package config

import (
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Watchdog says when people are told that something stands still, is gone or is late.
type Watchdog struct {
	// StalledAfter is how long nothing may move while there is work. It should be longer than the longest
	// benchmark: in the middle of one a collector has no progress to tell of.
	StalledAfter Duration `toml:"stalled_after" json:"stalled_after"`
	// LagEvents is how many events the tables may be behind the log. A burst of a few seconds is never said.
	LagEvents int `toml:"lag_events" json:"lag_events"`
	// LagFor is how long the tables may stand still behind the log, or be unreadable.
	LagFor Duration `toml:"lag_for" json:"lag_for"`
	// Webhook is a URL that every alert is posted to as JSON, when it is raised and when it is cleared; empty
	// posts nothing. It may hold a token: TACHO_ALERT_WEBHOOK keeps it out of the file, and only its host is shown.
	Webhook string `toml:"webhook" json:"webhook"`
	// Link is the address of the pages that is posted with each alert; default: where the website of the same
	// process listens.
	Link string `toml:"link" json:"link"`
}

func defaultWatchdog() Watchdog {
	return Watchdog{StalledAfter: Duration(30 * time.Minute), LagEvents: 1000, LagFor: Duration(30 * time.Second)}
}

// check never repeats the URL: it may hold a token.
func (w Watchdog) check() error {
	switch {
	case w.StalledAfter.Std() < time.Minute:
		return errors.New("watchdog.stalled_after: at least 1m")
	case w.LagEvents < 1:
		return errors.New("watchdog.lag_events: at least 1")
	case w.LagFor.Std() < time.Second:
		return errors.New("watchdog.lag_for: at least 1s")
	}
	if err := checkURL(w.Link); err != nil {
		return fmt.Errorf("watchdog.link: %w", err)
	}
	if u, err := url.Parse(w.Webhook); w.Webhook != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("watchdog.webhook (TACHO_ALERT_WEBHOOK): use a URL such as https://chat.example/hooks/TOKEN")
	}
	return nil
}

// RedactWebhook returns the URL of a webhook as it may be shown: all but its host may be a token.
func RedactWebhook(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		if address == "" {
			return ""
		}
		return "(not a URL)"
	}
	return u.Scheme + "://" + u.Host + "/" + hidden
}
