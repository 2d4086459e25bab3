package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"unicode"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/node"
	"github.com/tachobench/tacho/internal/usage"
)

type upCmd struct {
	Listen     string        `help:"Address of the website and API; default: 127.0.0.1:8421." placeholder:"ADDR"`
	NATSListen string        `help:"Address where collectors on other machines reach the log." placeholder:"ADDR" name:"nats-listen"`
	Insecure   bool          `help:"Accept every delivery to the webhook, without a secret. Only for tests on your own machine." name:"insecure-dev"`
	Collectors int           `help:"Number of collectors to run on this machine; -1 runs one per set of its target." default:"-1"`
	Demo       bool          `help:"Benchmark two releases as parent and child in a data directory of its own, and print the comparison; on a terminal the pages stay until Ctrl-C."`
	Stay       bool          `help:"With --demo: keep serving the pages after the comparison, also without a terminal."`
	TLS        webTLS        `embed:""`
	NATSTLS    natsServerTLS `embed:""`
	JSON       bool          `help:"With --demo: print the comparison as JSON." name:"json"`
}

// Help is shown by --help.
func (c *upCmd) Help() string {
	return "The first start makes the data directory: the log (an embedded NATS JetStream), a Postgres of its own for the tables, keys and caches. " +
		"With a repository (github.repo) and credentials it first asks GitHub which account comments are written as, and does not start without an answer. " +
		"On Ctrl-C the collectors give their jobs back, and everything ends. You can kill it at any moment and lose nothing: start it again."
}

// Run runs everything until ctx ends.
func (c *upCmd) Run(ctx context.Context, p *Program) error {
	if c.Listen != "" {
		p.config.Listen = c.Listen
	}
	if c.NATSListen != "" {
		p.config.NATS.Listen = c.NATSListen
	}
	if err := c.applyTLS(&p.config); err != nil {
		return err
	}
	if c.Insecure && p.config.GitHub.Repo == "" {
		return usage.Errorf("--insecure-dev is for the webhook, which needs a repository: set github.repo (TACHO_GITHUB_REPO), or leave the flag out")
	}
	if c.Demo {
		return c.demo(ctx, p)
	}
	if c.Stay || c.JSON {
		return usage.Errorf("--stay and --json are about the comparison of a demo: add --demo, or leave them out")
	}
	return c.up(ctx, p, nil)
}

// up runs everything, for the task if there is one.
func (c *upCmd) up(ctx context.Context, p *Program, task func(context.Context, *node.Up) error) error {
	return p.host().Up(ctx, node.UpOptions{Collectors: c.Collectors, Insecure: c.Insecure, Task: task})
}

// say prints a line about what is being done to stderr, so that stdout holds only answers.
func (p *Program) say(format string, args ...any) {
	fmt.Fprintln(p.Stderr, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// actor returns the user who typed the command, in a form that the API accepts.
func (p *Program) actor() events.Actor {
	user := strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._@-", r)) {
			return r
		}
		return -1
	}, p.Getenv("USER"))
	if user == "" || len(user) > 64 {
		user = fmt.Sprintf("uid-%d", os.Getuid())
	}
	return events.Actor("cli:" + user)
}
