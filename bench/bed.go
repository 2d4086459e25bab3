package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/internal/pgserver"
)

// Bed is where the sides of one row run: a directory, servers and goroutines. Close ends all of them.
type Bed struct {
	// Scale is how many times the usual work is done.
	Scale int
	dir   string
	say   func(format string, args ...any)
	// program is tacho, for rows that start it.
	program string

	// ctx ends when the row is interrupted or a part of it fails.
	ctx   context.Context
	stop  context.CancelFunc
	count int
	// ends undo what was started; the last one comes first.
	ends []func() error

	mu sync.Mutex
	// failed is why a task ended early.
	failed error
}

func newBed(ctx context.Context, parent string, scale int, say func(string, ...any)) (*Bed, error) {
	dir, err := os.MkdirTemp(parent, "tacho-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the servers: %w (name another place with --dir)", err)
	}
	b := &Bed{Scale: scale, dir: dir, say: say}
	b.ctx, b.stop = context.WithCancel(ctx)
	b.onEnd(func() error { return os.RemoveAll(dir) })
	return b, nil
}

// onEnd registers what undoes something that was started.
func (b *Bed) onEnd(f func() error) { b.ends = append(b.ends, f) }

// Close ends everything, the last thing first, and waits for it: collectors leave while there is still a door. It returns
// why a part failed, too.
func (b *Bed) Close() error {
	b.stop()
	var errs []error
	for i := len(b.ends) - 1; i >= 0; i-- {
		errs = append(errs, b.ends[i]())
	}
	return errors.Join(append(errs, b.failed)...)
}

// run runs a part until the bed is closed. If it fails before, that ends the row.
func (b *Bed) run(name string, f func(context.Context) error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(b.ctx))
	ended := make(chan struct{})
	b.onEnd(func() error {
		stop()
		<-ended
		return nil
	})
	go func() {
		defer close(ended)
		err := f(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		b.fail(name, err)
	}()
}

// fail ends the row, because a part of it failed.
func (b *Bed) fail(part string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed = errors.Join(b.failed, fmt.Errorf("%s: %w", part, err))
	b.stop()
}

// path returns a path in the directory of the bed that nobody has yet.
func (b *Bed) path(name string) string {
	b.count++
	return filepath.Join(b.dir, fmt.Sprintf("%s-%d", name, b.count))
}

// nats starts a server with JetStream. The caller fills in all but the directory.
func (b *Bed) nats(c natsserver.Config) (*natsserver.Server, *nats.Conn, error) {
	c.Dir = b.path("nats")
	s, err := natsserver.Start(c)
	if err != nil {
		return nil, nil, err
	}
	b.onEnd(func() error { s.Shutdown(); return nil })
	nc, err := s.Connect()
	if err != nil {
		return nil, nil, err
	}
	b.onEnd(func() error { nc.Close(); return nil })
	return s, nc, nil
}

// stream makes a plain stream on a server of its own, with a client.
func (b *Bed) stream(unsynced bool) (natsjs.JetStream, natsjs.Stream, error) {
	_, nc, err := b.nats(natsserver.Config{Unsynced: unsynced})
	if err != nil {
		return nil, nil, err
	}
	js, err := natsjs.New(nc)
	if err != nil {
		return nil, nil, err
	}
	stream, err := js.CreateStream(b.ctx, natsjs.StreamConfig{Name: "RAW", Subjects: []string{"raw.>"}, AllowDirect: true})
	return js, stream, err
}

// Database is a Postgres of one row, with a pool of connections.
type Database struct {
	*pgxpool.Pool
	URL string
	// dir is the directory of its server.
	dir string
}

// postgres starts a Postgres as people have it, with autovacuum. An unsynced one gives up durability as the unsynced stream does.
func (b *Bed) postgres(unsynced bool, connections int) (*Database, error) {
	dir := b.path("postgres")
	s, err := pgserver.Start(b.ctx, pgserver.Config{Dir: dir, BinDir: os.Getenv("TACHO_PG_BIN")})
	if err != nil {
		return nil, err
	}
	b.onEnd(func() error { return s.Stop(context.WithoutCancel(b.ctx)) })
	config, err := pgxpool.ParseConfig(s.URL())
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(connections)
	pool, err := pgxpool.NewWithConfig(b.ctx, config)
	if err != nil {
		return nil, err
	}
	b.onEnd(func() error { pool.Close(); return nil })
	if unsynced {
		for _, set := range []string{"ALTER SYSTEM SET fsync = off", "ALTER SYSTEM SET full_page_writes = off", "SELECT pg_reload_conf()"} {
			if _, err := pool.Exec(b.ctx, set); err != nil {
				return nil, fmt.Errorf("%s: %w", set, err)
			}
		}
	}
	return &Database{pool, s.URL(), dir}, nil
}

// cpuOf returns the CPU time that this process and the servers of the databases have used.
func cpuOf(databases ...*Database) (time.Duration, error) {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return 0, fmt.Errorf("read the CPU time of this process: %w", err)
	}
	sum := time.Duration(own.Utime.Nano() + own.Stime.Nano())
	for _, d := range databases {
		cpu, err := d.cpu()
		if err != nil {
			return 0, err
		}
		sum += cpu
	}
	return sum, nil
}

// tick is the unit of CPU times in /proc.
const tick = 10 * time.Millisecond

// cpu returns the CPU time of all processes of the server, those that have ended included.
func (d *Database) cpu() (sum time.Duration, err error) {
	found, err := filepath.Glob(filepath.Join(d.dir, "*", "postmaster.pid"))
	if err != nil || len(found) != 1 {
		return 0, fmt.Errorf("the server in %s has no postmaster.pid", d.dir)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		return 0, err
	}
	postmaster, _, _ := strings.Cut(string(text), "\n")
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		return 0, errors.New("the CPU time of Postgres is read from /proc, which only Linux has: leave the row out")
	}
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// The name of the program is in parentheses. The fields after it begin with the third one.
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		pid := filepath.Base(filepath.Dir(name))
		if len(fields) < 15 || pid != postmaster && fields[1] != postmaster {
			continue
		}
		last := 13 // user and system
		if pid == postmaster {
			last = 15 // and that of children which have ended
		}
		for _, f := range fields[11:last] {
			n, err := strconv.Atoi(f)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", name, err)
			}
			sum += time.Duration(n) * tick
		}
	}
	return sum, nil
}
