package config

import (
	"strings"
	"testing"
	"time"
)

func TestTargetsOfWaits(t *testing.T) {
	c, err := Load(file(t, "[sla.lanes]\n\"linux-amd64/0\" = \"1h\"\n"), env(map[string]string{"HOME": "/h"}))
	if err != nil {
		t.Fatal(err)
	}
	for lane, want := range map[string]time.Duration{"linux-amd64/0": time.Hour, "linux-amd64/1": 15 * time.Minute} {
		if got := c.SLA.For(lane); got != want {
			t.Errorf("%s has %s, want %s", lane, got, want)
		}
	}
}

func TestWrongTargetsOfWaitsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"[sla]\ntarget = \"10ms\"":      "sla.target: at least 1s",
		"[sla]\ntarget = 15":            "sla.target: 15 has no unit",
		"[sla.lanes]\n\"a/0\" = \"0s\"": `"a/0" is 0s`,
		"[sla.lanes]\n\"a/0\" = 20":     "sla.lanes.a/0: 20",
	} {
		_, err := Load(file(t, text+"\n"), env(map[string]string{"HOME": "/h"}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}
