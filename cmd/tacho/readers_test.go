package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A process with all its parts reads the log three times: the shell for all parts that decide, the projector, and the
// webhook of alerts. The last two have cursors of their own.
func TestTheLogIsReadThreeTimes(t *testing.T) {
	t.Parallel()
	g := onGitHub(t)
	posts := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(posts.Close)
	commits := filepath.Join(g.dir, "commits")
	g.newCommits(commits)(2)
	g.replace("quick.toml", "[github]\n", fmt.Sprintf("[[poller]]\nname = \"here\"\nkind = \"git-commits\"\nsuite = \"naps\"\nurl = %q\ninterval = \"1s\"\n[github]\n", commits))
	server := "nats://core:s3cret@" + natsWith(t, natsConf(t, "{ user: core, password: s3cret }", ""))
	g.env = append(g.env, "TACHO_NATS_URL="+server, "TACHO_ALERT_WEBHOOK="+posts.URL)
	g.start("--collectors", "0")
	g.listen()
	g.repo.Comment(pull, g.alice, "@tacho status")
	g.awaitComments("the command is answered", func(c []string) bool { return len(c) == 1 })
	g.eventually("the commits are asked for", 20*time.Second, func() bool { return slices.Equal(g.asked(), []int{1, 2}) })

	nc, err := nats.Connect(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	var readers []string
	list := stream.ListConsumers(t.Context())
	for c := range list.Info() {
		if c.Config.Durable == "" { // durable consumers hand out jobs
			readers = append(readers, fmt.Sprintf("%s, of %v", c.Name, c.Config.FilterSubjects))
		}
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	if len(readers) != 3 {
		t.Errorf("the log is read by %d: %v", len(readers), readers)
	}
}
