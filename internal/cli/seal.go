package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/internal/node"
	"github.com/tachobench/tacho/internal/usage"
	"github.com/tachobench/tacho/rules/seal"
)

type sealCmd struct {
	Key  sealKeyCmd  `cmd:"" help:"Make a key: write the private half to a file, print the public half."`
	Show sealShowCmd `cmd:"" help:"Print the public half of a key in a file."`
}

// Help is shown by --help.
func (*sealCmd) Help() string {
	return "Collectors with collector.seals = \"enforce\" execute only definitions that a publisher sealed, and only jobs whose dispatch a scheduler sealed. " +
		"Public keys go into collector.publishers and collector.dispatchers; a private key is named by seal_key, scheduler.seal_key, seal_key of a [[poller]], or by `tacho suite publish --key`. " +
		"See docs/seals.md."
}

type sealKeyCmd struct {
	Name string `arg:"" help:"What people call the key, such as alice-2026."`
	Out  string `help:"File to write the private half to; it must not exist." required:"" type:"path" placeholder:"FILE"`
	JSON bool   `help:"Print JSON." name:"json"`
}

// Run makes a key.
func (c *sealKeyCmd) Run(_ context.Context, p *Program) error {
	var seed [32]byte
	_, err := rand.Read(seed[:])
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	key, err := seal.New(c.Name, seed)
	if err != nil {
		return usage.Error{Err: err}
	}
	err = writeNew(c.Out, key.Secret()+"\n")
	if errors.Is(err, os.ErrExist) {
		return &control.RefusedError{Kind: control.Conflict, Reason: fmt.Sprintf("%s exists and is kept as it is: name another file with --out, or print its public half with `tacho seal show %s`", c.Out, c.Out)}
	}
	if err != nil {
		return fmt.Errorf("write the private key: %w; name another file with --out", err)
	}
	return p.tellKey(key, c.Out, c.JSON)
}

type sealShowCmd struct {
	File string `arg:"" help:"File with a private key." type:"path"`
	JSON bool   `help:"Print JSON." name:"json"`
}

// Run prints the public half of a key.
func (c *sealShowCmd) Run(_ context.Context, p *Program) error {
	key, err := node.SealKey("FILE", c.File)
	if err != nil {
		return err
	}
	return p.tellKey(key, c.File, c.JSON)
}

// tellKey prints the public half of a key, alone on the standard output.
func (p *Program) tellKey(key *seal.Private, file string, asJSON bool) error {
	public := key.Public()
	if asJSON {
		return p.json(map[string]string{"id": public.ID, "name": public.Name, "public": public.String(), "file": file})
	}
	_, err := fmt.Fprintln(p.Stdout, public)
	p.say("the private half is in %s: keep it secret, and keep a copy", file)
	return err
}

// writeNew writes a file that only its owner may read. It leaves a file that exists as it is, and no part of a file after an error.
func writeNew(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return errors.Join(err, os.Remove(file))
	}
	return nil
}
