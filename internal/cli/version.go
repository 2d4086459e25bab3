package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// versionOr returns the version that the build set, or else the version of the module.
func versionOr(version string) string {
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
func (c *versionCmd) Run(_ context.Context, p *Program) error {
	if c.JSON {
		return p.json(map[string]string{"version": p.Version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH})
	}
	fmt.Fprintf(p.Stdout, "tacho %s (%s, %s/%s)\n", p.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}

type configCmd struct {
	JSON bool `help:"Print JSON."`
}

// Run prints the effective configuration, without its secrets.
func (c *configCmd) Run(_ context.Context, p *Program) error {
	shown := p.config.Redacted()
	if c.JSON {
		return p.json(shown)
	}
	text, err := shown.TOML()
	if err != nil {
		return err
	}
	_, err = p.Stdout.Write(text)
	return err
}
