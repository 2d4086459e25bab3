package config

import (
	"strings"
	"testing"
)

func TestTheWebhookOfAlertsIsASecret(t *testing.T) {
	c, err := Load("", env(map[string]string{"HOME": "/h", "TACHO_ALERT_WEBHOOK": "https://u:secret-1@chat.example/secret-2?t=secret-3#secret-4"}))
	if err != nil || !strings.Contains(c.Watchdog.Webhook, "secret-2") {
		t.Fatalf("%+v, %v", c.Watchdog, err)
	}
	text, err := c.Redacted().TOML()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "secret-") || !strings.Contains(string(text), "chat.example") {
		t.Errorf("shown:\n%s", text)
	}
	again := Default("/d")
	if err := decode("shown", text, &again); err != nil || again.Check() != nil {
		t.Errorf("what is shown is no valid file: %v, %v", err, again.Check())
	}
	for _, bad := range []string{"chat.example/secret", "ftp://chat.example/secret", "https:///secret", "http://[secret"} {
		_, err := Load("", env(map[string]string{"HOME": "/h", "TACHO_ALERT_WEBHOOK": bad}))
		if err == nil || !strings.Contains(err.Error(), "TACHO_ALERT_WEBHOOK") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for in, want := range map[string]string{"": "", "http://h": "http://h/xxxxx", "secret": "(not a URL)", "https://h:1/a": "https://h:1/xxxxx"} {
		if got := RedactWebhook(in); got != want {
			t.Errorf("%q is shown as %q", in, got)
		}
	}
}

func TestLimitsOfTheWatchdog(t *testing.T) {
	for text, want := range map[string]string{
		"stalled_after = \"10s\"": "watchdog.stalled_after", "lag_events = 0": "watchdog.lag_events", "lag_for = \"1ms\"": "watchdog.lag_for", "turn_after = \"1s\"": "watchdog.turn_after",
	} {
		_, err := Load(file(t, "[watchdog]\n"+text+"\n"), env(map[string]string{"HOME": "/h"}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}
