package cli

import (
	"testing"

	"github.com/tachobench/tacho/internal/room"
)

func TestTheDoctorSaysHowFullThingsAre(t *testing.T) {
	found := roomFindings([]room.Place{
		{About: "database", Bytes: 1 << 20},
		{About: "log", Bytes: 79, Limit: 100},
		{About: "disk of the log", Bytes: 80, Limit: 100, Next: "Free some."},
		{About: "log", Bytes: 10, Limit: 100, Full: "why", Next: "Do this."},
	})
	for i, want := range []struct{ verdict, detail, next string }{
		{"good", "database: 1 MiB, no limit is known", ""},
		{"good", "log: 79 B of 100 B (79 %)", ""},
		{"note", "disk of the log: 80 B of 100 B (80 %)", "Free some."},
		{"bad", "log: 10 B of 100 B (10 %): why", "Do this."},
	} {
		if f := found[i]; f.Verdict != want.verdict || f.Detail != want.detail || f.Next != want.next {
			t.Errorf("%+v, want %+v", f, want)
		}
	}
}
