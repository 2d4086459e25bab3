package config

import (
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Watchdog says when alerts are raised about things that stand still, are gone or are late.
type Watchdog struct {
	// StalledAfter is how long there may be no progress while there is work. It should be longer than the longest
	// benchmark: in the middle of one a collector reports no progress.
	StalledAfter Duration `toml:"stalled_after" json:"stalled_after"`
	// LagEvents is how many events the tables may be behind the log. A burst of a few seconds never raises an alert.
	LagEvents int `toml:"lag_events" json:"lag_events"`
	// LagFor is how long the tables may be behind the log without progress.
	LagFor Duration `toml:"lag_for" json:"lag_for"`
	// TurnAfter is how long a collector may wait for the turn of its machine while others build or measure there, or three
	// times what their jobs are expected to take, if that is longer. A process that was stopped keeps the turn for ever.
	TurnAfter Duration `toml:"turn_after" json:"turn_after"`
	// Webhook is a URL. Every alert is posted to it as JSON, when it is raised and when it is cleared; empty posts
	// nothing. The URL may hold a token: TACHO_ALERT_WEBHOOK keeps it out of the file, and only its host is shown.
	Webhook string `toml:"webhook" json:"webhook"`
	// Link is the address of the website in each posted alert; default: the address where the website of the same
	// process listens.
	Link string `toml:"link" json:"link"`
}

func defaultWatchdog() Watchdog {
	return Watchdog{StalledAfter: Duration(30 * time.Minute), LagEvents: 1000, LagFor: Duration(30 * time.Second), TurnAfter: Duration(time.Hour)}
}

// check returns an error for the first invalid value. It never repeats the webhook's URL: that may hold a token.
func (w Watchdog) check() error {
	switch {
	case w.StalledAfter.Std() < time.Minute:
		return errors.New("watchdog.stalled_after: at least 1m")
	case w.LagEvents < 1:
		return errors.New("watchdog.lag_events: at least 1")
	case w.LagFor.Std() < time.Second:
		return errors.New("watchdog.lag_for: at least 1s")
	case w.TurnAfter.Std() < time.Minute:
		return errors.New("watchdog.turn_after: at least 1m")
	}
	if err := checkURL(w.Link); err != nil {
		return fmt.Errorf("watchdog.link: %w", err)
	}
	if u, err := url.Parse(w.Webhook); w.Webhook != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("watchdog.webhook (TACHO_ALERT_WEBHOOK): use a URL such as https://chat.example/hooks/TOKEN")
	}
	return nil
}

// RedactWebhook returns the URL of a webhook without everything that may be a token: only the host is left.
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
