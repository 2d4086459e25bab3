package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tachobench/tacho/internal/cli"
	"github.com/tachobench/tacho/internal/fakegithub"
)

// The program does not start if it cannot learn its own account: neither `tacho up` nor the parts that need the account. The
// doctor says why or, if all is well, which account it is.
func TestNothingStartsWithoutKnowingItself(t *testing.T) {
	t.Parallel()
	g := onGitHub(t)
	up := words("up --listen 127.0.0.1:0")
	broken := g.server.Break(fakegithub.Fault{Path: "/user", Do: fakegithub.Status(503)})
	g.refused(cli.ExitFailed, up, "it is not known which account comments are written as", "status 503", "check github.api")
	if broken.Hits() < 2 {
		t.Errorf("asked %d times", broken.Hits())
	}
	broken.Mend()
	who := fmt.Sprintf("comments are written as tacho-bot (account %d)", g.bot.ID)
	if out, _, _ := g.run("doctor"); !strings.Contains(out, who) {
		t.Errorf("the doctor says %s", out)
	}
	g.replace("quick.toml", "[github]\n", "[github]\nbot_id = 99\n")
	both := []string{"github.bot_id is 99", fmt.Sprintf("tacho-bot (account %d)", g.bot.ID)}
	g.refused(cli.ExitUsage, up, both...)
	g.replace("quick.toml", "start_wait", "nats.url = \"nats://127.0.0.1:1\"\ndatabase.url = \"postgres://127.0.0.1:1/x\"\nstart_wait")
	for _, part := range []string{"webhook", "reporter"} {
		g.refused(cli.ExitUsage, []string{"serve", part, "--listen", "127.0.0.1:0"}, both...)
	}
	if out, _, code := g.run("doctor"); code != cli.ExitFailed || !strings.Contains(out, "github.bot_id is 99") {
		t.Errorf("exit code %d, the doctor says %s", code, out)
	}
	if _, err := os.Stat(g.data("log")); !os.IsNotExist(err) {
		t.Errorf("a start that was refused made a log: %v", err)
	}
}
