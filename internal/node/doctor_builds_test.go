package node

import (
	"os"
	"strings"
	"testing"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/internal/turns"
)

func TestTheDoctorSaysWhoSharesTheMachine(t *testing.T) {
	h := &Host{Config: config.Default(t.TempDir())}
	if f := h.doctorTurns(); f.Verdict != "good" || !strings.Contains(f.Detail, "no collector runs") || !strings.Contains(f.Detail, h.turns()) {
		t.Errorf("got %+v", f)
	}
	if _, err := os.Stat(h.turns()); err == nil {
		t.Error("looking made the directory")
	}
	machine, err := turns.Open(h.turns())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"eider (process 1, measures alone) has this machine for itself", "2 collectors share this machine"} {
		leave, err := machine.Join(turns.User{Name: []string{"eider", "heron"}[i], PID: i + 1, Measures: turns.MeasureAlone})
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		if f := h.doctorTurns(); !strings.Contains(f.Detail, want) {
			t.Errorf("got %+v, want %q", f, want)
		}
	}
	for _, f := range h.doctorBuilds(t.Context()) {
		if f.What == "" || f.Detail == "" || f.Verdict == "bad" {
			t.Errorf("got %+v", f)
		}
	}
}
