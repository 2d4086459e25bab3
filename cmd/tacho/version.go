package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the build; without one the module's own is shown.
var version = ""

func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

type versionCmd struct {
	JSON bool `help:"Print JSON."`
}

// Run prints the version.
func (c *versionCmd) Run(_ context.Context, p *program) error {
	if c.JSON {
		return p.json(map[string]string{"version": programVersion(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH})
	}
	fmt.Fprintf(p.stdout, "tacho %s (%s, %s/%s)\n", programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}

type configCmd struct {
	JSON bool `help:"Print JSON."`
}

// Run prints the effective configuration, without its secrets.
func (c *configCmd) Run(_ context.Context, p *program) error {
	shown := p.config.Redacted()
	if c.JSON {
		return p.json(shown)
	}
	text, err := shown.TOML()
	if err != nil {
		return err
	}
	_, err = p.stdout.Write(text)
	return err
}
