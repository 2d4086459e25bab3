package pgserver

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/tachobench/tacho/internal/filelock"
)

const (
	// maxSocketPath is what macOS allows; Linux allows four bytes more.
	maxSocketPath = 103
	socketName    = ".s.PGSQL." + port
	shortPrefix   = "tacho-pg-"
	lockName      = "lock"

	keepLog = 1 << 20 // the next start sets a longer log aside
	tailLog = 2 << 10
)

// makeDir makes the server's directory and returns its real, absolute name, by which children are recognised.
func makeDir(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("PostgreSQL needs a directory: none was named")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the directory of PostgreSQL: %w", err)
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", fmt.Errorf("find the directory of PostgreSQL: %w", err)
	}
	return abs, nil
}

// takeLock makes this process the owner of dir until the file is closed or the process ends in any way.
// Without the lock a second Tacho would take the first one's server for an orphan and end it.
func takeLock(dir string) (*filelock.Lock, error) {
	path := filepath.Join(dir, lockName)
	lock, err := filelock.Try(path, filelock.Exclusive)
	if err != nil {
		return nil, fmt.Errorf("open the lock of %s: %w", dir, err)
	}
	if lock == nil {
		return nil, fmt.Errorf("another Tacho (process %s) already runs PostgreSQL in %s: "+
			"stop it or choose another data directory", filelock.Holder(path), dir)
	}
	if err := lock.Sign(); err != nil {
		lock.Release()
		return nil, fmt.Errorf("write the lock of %s: %w", dir, err)
	}
	return lock, nil
}

// socketDir is the directory that holds the unix socket; clients name it as their host.
type socketDir string

// makeSocketDir makes a private directory for the socket: <dir>/sock if the path is short enough for the
// kernel, else a temporary one. In that case <dir>/sock is a link to it, so that people find it. The next start for the
// same dir gets the same path, so that clients come back. Only if that path belongs to another user, it gets another one.
func makeSocketDir(dir string, who identity) (socketDir, error) {
	sock := filepath.Join(dir, "sock")
	if err := os.RemoveAll(sock); err != nil {
		return "", fmt.Errorf("remove the old socket directory: %w", err)
	}
	if fits(sock) {
		if err := os.Mkdir(sock, 0o700); err != nil {
			return "", fmt.Errorf("make the socket directory: %w", err)
		}
		return socketDir(sock), who.give(sock)
	}
	for _, parent := range []string{os.TempDir(), "/tmp"} {
		if !fits(filepath.Join(parent, shortPrefix+"0123456789")) {
			continue
		}
		short, err := makeShort(parent, dir)
		if err != nil {
			return "", fmt.Errorf("make the socket directory: %w", err)
		}
		if err := errors.Join(who.give(short), os.Symlink(short, sock)); err != nil {
			return "", fmt.Errorf("make the socket directory: %w", errors.Join(err, os.Remove(short)))
		}
		return socketDir(short), nil
	}
	return "", fmt.Errorf("the path of a socket in %s is too long: choose a shorter data directory or TMPDIR", dir)
}

// makeShort makes the temporary directory of dir in parent. A killed server may have left it, so it is removed first. It
// must be new: a directory that another user has made could show the socket to that user.
func makeShort(parent, dir string) (string, error) {
	digest := sha256.Sum256([]byte(dir))
	short := filepath.Join(parent, shortPrefix+hex.EncodeToString(digest[:5]))
	socketDir(short).remove()
	err := os.Mkdir(short, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return os.MkdirTemp(parent, shortPrefix)
	}
	return short, err
}

func fits(dir string) bool { return len(filepath.Join(dir, socketName)) <= maxSocketPath }

// remove removes a temporary socket directory; the one inside our directory stays.
func (s socketDir) remove() {
	if strings.HasPrefix(filepath.Base(string(s)), shortPrefix) {
		// If this fails, an empty directory is left over: not worth an error.
		_ = os.RemoveAll(string(s))
	}
}

// serverLog is the file that the child writes to; from is where the lines of this start begin.
type serverLog struct {
	file *os.File
	from int64
}

func openLog(dir string, who identity) (serverLog, error) {
	path := filepath.Join(dir, "postgres.log")
	if st, err := os.Lstat(path); err == nil && st.Size() > keepLog {
		if err := os.Rename(path, path+".old"); err != nil {
			return serverLog{}, fmt.Errorf("set the long log aside: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return serverLog{}, fmt.Errorf("open PostgreSQL's log: %w", err)
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err := errors.Join(err, who.give(path)); err != nil {
		return serverLog{}, fmt.Errorf("open PostgreSQL's log: %w", errors.Join(err, f.Close()))
	}
	return serverLog{file: f, from: end}, nil
}

func (l serverLog) path() string { return l.file.Name() }

// tail returns the last lines that this start has written, or why they cannot be read.
func (l serverLog) tail() string {
	f, err := os.Open(l.path())
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err.Error()
	}
	from := max(l.from, st.Size()-tailLog)
	b, err := io.ReadAll(io.NewSectionReader(f, from, tailLog))
	if err != nil && !errors.Is(err, fs.ErrClosed) {
		return err.Error()
	}
	return strings.TrimSpace(string(b))
}

func (l serverLog) close() {
	if l.file != nil {
		_ = l.file.Close() // nothing of ours is buffered in it
	}
}
