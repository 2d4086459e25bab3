package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// cluster is PostgreSQL's data directory inside ours, and what is needed to make and to run it.
type cluster struct {
	dir     string // our directory
	bin     binDir
	version version
	who     identity
	fast    bool
}

// unfinished begins the name of a cluster that is being made.
const unfinished = "data.new-"

func (c cluster) data() string { return filepath.Join(c.dir, "data") }

// checkVersion fails if the binaries have another major version than the cluster: they cannot read it.
func (c cluster) checkVersion() error {
	b, err := os.ReadFile(filepath.Join(c.data(), "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the version of the cluster in %s: %w", c.data(), err)
	}
	if have := strings.TrimSpace(string(b)); have != c.version.major {
		return fmt.Errorf("the database in %s was made by PostgreSQL %s, but %s holds PostgreSQL %s: "+
			"set TACHO_PG_BIN to the binaries of PostgreSQL %s, or remove that directory and run `tacho replay` "+
			"(the database is only a read model and is rebuilt from the log)",
			c.data(), have, c.bin, c.version.major, have)
	}
	return nil
}

// make runs initdb if there is no cluster yet. initdb writes PG_VERSION before it is done, so the
// cluster is made under another name and put in its place by one rename.
func (c cluster) make(ctx context.Context, progress func(string)) error {
	if err := c.removeUnfinished(); err != nil {
		return err
	}
	if _, err := os.Stat(c.data()); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	progress(fmt.Sprintf("making a PostgreSQL %s cluster in %s", c.version.major, c.data()))
	tmp, err := os.MkdirTemp(c.dir, unfinished)
	if err != nil {
		return fmt.Errorf("make a directory for the cluster: %w", err)
	}
	if err := c.who.give(tmp); err != nil {
		return err
	}
	args := []string{
		"-D", tmp, "-U", superuser, "--auth=trust", "-E", "UTF8", "--locale=C", "--no-instructions",
	}
	if c.fast {
		args = append(args, "--no-sync")
	}
	if _, err := c.who.run(ctx, c.bin.tool("initdb"), args...); err != nil {
		return fmt.Errorf("make a PostgreSQL cluster in %s: %w", c.dir, errors.Join(err, os.RemoveAll(tmp)))
	}
	if err := os.Rename(tmp, c.data()); err != nil {
		return fmt.Errorf("put the new cluster in its place: %w", err)
	}
	return syncDir(c.dir)
}

// removeUnfinished removes what a start left that died during initdb. The caller holds the lock, so no other process works there.
func (c cluster) removeUnfinished() error {
	left, err := filepath.Glob(filepath.Join(escapeGlob(c.dir), unfinished+"*"))
	if err != nil {
		return fmt.Errorf("look for unfinished clusters in %s: %w", c.dir, err)
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove an unfinished cluster: %w", err)
		}
	}
	return nil
}

// arguments returns the arguments of the server process. They override postgresql.conf, so no file must be edited.
func (c cluster) arguments(socket socketDir) []string {
	args := []string{"-D", c.data(), "-p", port, "-k", string(socket)}
	set := []string{
		"listen_addresses=", "unix_socket_permissions=0700", "logging_collector=off", "log_destination=stderr",
		"log_checkpoints=off", "timezone=UTC", "log_timezone=UTC",
	}
	if c.fast {
		// synchronous_commit stays on: without fsync it is cheap, and committed data survives the kill of the server.
		// Its databases are small and live for seconds: nobody has to vacuum them, and few buffers are mapped sooner.
		set = append(set, "fsync=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0", "autovacuum=off", "shared_buffers=16MB")
	}
	for _, s := range set {
		args = append(args, "-c", s)
	}
	return args
}

// syncDir makes a rename in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}

// escapeGlob makes a path match only itself in a glob pattern.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
