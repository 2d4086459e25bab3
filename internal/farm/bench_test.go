package farm

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/rules/suite"
)

// syncedLog returns an empty log on a server of one node, which syncs each event.
func syncedLog(b *testing.B) (*nats.Conn, *jetstream.Log) {
	b.Helper()
	server, err := natsserver.Start(natsserver.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(server.Shutdown)
	nc, err := server.Connect()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(nc.Close)
	log, err := jetstream.Open(b.Context(), nc, jetstream.Config{})
	if err != nil {
		b.Fatal(err)
	}
	return nc, log
}

// manyJobs returns definitions with n profiles on one lane and nothing to measure.
func manyJobs(n int) suite.Definitions {
	d := suite.Definitions{
		Version: 1, Name: "many", PrimaryTarget: "here", Sources: suite.Sources{Root: "file"},
		Targets:    []suite.Target{{Name: "here", Sets: 1}},
		Kinds:      []suite.Kind{{Name: "compile", PerSet: true, PerBackend: true, PerProfile: true}},
		Backends:   []suite.Backend{{Name: "any"}},
		Categories: map[events.RequestKind][]suite.Category{events.Master: {suite.Primary}},
	}
	for i := range n {
		d.Profiles = append(d.Profiles, suite.Profile{Name: events.Profile(fmt.Sprintf("p%d", i))})
	}
	return d
}
