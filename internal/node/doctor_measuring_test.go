package node

import (
	"slices"
	"testing"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/internal/turns"
)

func named(findings []Finding) (names []string) {
	for _, f := range findings {
		names = append(names, f.What)
	}
	return names
}

// Only where collectors may run does the doctor look at what they need, and only where tables may be at Postgres.
func TestTheDoctorLooksWhereItMatters(t *testing.T) {
	h := &Host{Config: config.Default(t.TempDir())}
	looks := func(what string, want bool) {
		t.Helper()
		found := named(append(h.doctorMeasuring(t.Context()), h.doctorServices(t.Context())...))
		if slices.Contains(found, what) != want || slices.Contains(found, "measuring") != !slices.Contains(found, "valgrind") {
			t.Errorf("%s wanted: %t; looks at %q", what, want, found)
		}
	}
	looks("metrics", true)
	looks("Postgres", true)

	// A collector on a machine of its own.
	h.Config.NATS.URL = "nats://127.0.0.1:1"
	looks("metrics", true)
	looks("Postgres", false)
	looks("NATS", true)

	// The parts of a cluster.
	h.Config.Database.URL = "postgres://127.0.0.1:1/tacho"
	looks("metrics", false)
	looks("Postgres", true)

	machine, err := turns.Open(h.turns())
	if err != nil {
		t.Fatal(err)
	}
	leave, err := machine.Join(turns.User{Name: "eider", PID: 1, Measures: turns.MeasureAlone})
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	looks("metrics", true)
}
