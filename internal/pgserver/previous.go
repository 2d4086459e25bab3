package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// goSoon is how long an orphan may take to end after SIGQUIT, and again after SIGKILL.
	goSoon    = 5 * time.Second
	lookEvery = 10 * time.Millisecond
)

// endPrevious clears a data directory whose owner has died: it ends the server that may still live
// there and waits until none of its processes is left. A second server beside them would ruin the
// cluster. The caller holds the lock of the directory, so a server that runs there has no owner.
//
// It also removes a pid file that would keep PostgreSQL from starting: PostgreSQL takes any living process with
// that number, such as an unrelated one after a reboot, for the previous server.
func endPrevious(ctx context.Context, data string, log *slog.Logger) error {
	pidFile := filepath.Join(data, "postmaster.pid")
	b, err := os.ReadFile(pidFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read PostgreSQL's pid file: %w", err)
	}
	named := parsePID(b)
	if err := endAll(ctx, data, named, log); err != nil {
		return err
	}
	if named != 0 && alive(named) && !runsOn(named, data) {
		log.Info("pid file names a stranger, removing it", "path", pidFile, "pid", named)
		if err := os.Remove(pidFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove PostgreSQL's stale pid file: %w", err)
		}
	}
	return nil
}

func endAll(ctx context.Context, data string, named int, log *slog.Logger) error {
	left := previous(data, named)
	if len(left) == 0 {
		return nil
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for _, sig := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGKILL} {
		log.Info("ending the previous postgres", "data", data, "pids", left, "signal", sig.String())
		for _, pid := range left {
			_ = syscall.Kill(pid, sig) // it may have ended meanwhile; the loop below checks that it is gone
		}
		for late := time.After(goSoon); ; {
			if left = previous(data, named); len(left) == 0 {
				return nil
			}
			select {
			case <-tick.C:
				continue
			case <-ctx.Done():
				return fmt.Errorf("wait for the previous PostgreSQL in %s to end: %w", data, context.Cause(ctx))
			case <-late:
			}
			break
		}
	}
	return fmt.Errorf("the previous PostgreSQL in %s does not end even when killed: end the processes %v and start again", data, left)
}

// previous lists the processes of a server on data: the one in its pid file, if that is verifiably ours, and
// all that work in the directory, as every process of a server does.
func previous(data string, named int) []int {
	pids := residents(data)
	if named != 0 && !slices.Contains(pids, named) && runsOn(named, data) {
		pids = append(pids, named)
	}
	return pids
}

// parsePID reads the first line of postmaster.pid; 0 means that it names no process. A server in single-user
// mode writes its number negated.
func parsePID(pidFile []byte) int {
	line, _, _ := strings.Cut(string(pidFile), "\n")
	pid, err := strconv.ParseInt(strings.TrimSpace(line), 10, 32)
	if err != nil {
		return 0
	}
	return int(max(pid, -pid, 0))
}

// alive reports whether a process with this number exists and we may signal it. PostgreSQL checks it in the same way.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
