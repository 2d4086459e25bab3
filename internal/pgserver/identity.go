package pgserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// identity says who runs PostgreSQL, which refuses to run as root.
//
//   - A caller who is not root runs it as itself.
//   - Root runs it as the owner of the directory, if that is another user.
//   - Root on its own directory runs it in a user namespace where root's id has another name. For the rest of
//     the system its files still belong to root: this works below a private home, and no owner changes.
//   - If the kernel refuses user namespaces (as in many containers), root gives the directory to the user
//     nobody and runs it as that user. The user nobody must then be able to reach the directory.
type identity struct {
	how      how
	uid, gid int // of another user
}

type how int

const (
	asCaller how = iota
	asOther
	inNamespace
)

// identify chooses who runs bin on dir and asks bin for its version in that role.
func identify(ctx context.Context, bin binDir, dir string) (identity, version, error) {
	who, err := candidate(dir)
	if err != nil {
		return identity{}, version{}, err
	}
	v, err := bin.ask(ctx, who)
	if who.how == inNamespace && refused(err) {
		if who, err = giveToNobody(dir); err != nil {
			return identity{}, version{}, err
		}
		v, err = bin.ask(ctx, who)
	}
	return who, v, err
}

func candidate(dir string) (identity, error) {
	if os.Geteuid() != 0 {
		return identity{how: asCaller}, nil
	}
	uid, gid, err := owner(dir)
	if err != nil {
		return identity{}, err
	}
	if uid != 0 {
		return identity{how: asOther, uid: uid, gid: gid}, nil
	}
	if !haveNamespaces {
		return giveToNobody(dir)
	}
	return identity{how: inNamespace}, nil
}

func owner(dir string) (uid, gid int, err error) {
	st, err := os.Stat(dir)
	if err != nil {
		return 0, 0, fmt.Errorf("look who owns the directory: %w", err)
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, fmt.Errorf("look who owns %s: this system does not say", dir)
	}
	return int(sys.Uid), int(sys.Gid), nil
}

// refused reports whether the kernel refused to make a namespace; false if the program itself failed.
func refused(err error) bool {
	no := []error{syscall.EPERM, syscall.ENOSPC, syscall.EUSERS, syscall.ENOSYS, syscall.EINVAL}
	return slices.ContainsFunc(no, func(e error) bool { return errors.Is(err, e) })
}

// giveToNobody makes the user nobody the owner of dir and all that is in it. From then on PostgreSQL runs as that user.
func giveToNobody(dir string) (identity, error) {
	for at := filepath.Dir(dir); ; at = filepath.Dir(at) {
		st, err := os.Stat(at)
		if err != nil {
			return identity{}, fmt.Errorf("look who may pass %s: %w", at, err)
		}
		if st.Mode()&0o001 == 0 {
			return identity{}, fmt.Errorf("PostgreSQL refuses to run as root, this kernel refuses user namespaces, and the user "+
				"nobody may not pass %s: run Tacho as an ordinary user, or choose a data directory that everybody may reach, "+
				"such as /var/lib/tacho", at)
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	who := identity{how: asOther, uid: nobody, gid: nobody}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return who.give(path)
	})
	if err != nil {
		return identity{}, fmt.Errorf("give %s to the user nobody: %w", dir, err)
	}
	return who, nil
}

// give makes who the owner of a path that the caller made.
func (who identity) give(path string) error {
	if who.how != asOther {
		return nil
	}
	if err := os.Lchown(path, who.uid, who.gid); err != nil {
		return fmt.Errorf("give a path to user %d: %w", who.uid, err)
	}
	return nil
}

// run runs a short program as who and returns what it prints. The program dies with the caller.
func (who identity) run(ctx context.Context, program string, args ...string) (string, error) {
	// The thread must outlive the program: see own.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = environment()
	cmd.Dir = "/" // who may not be able to enter the caller's
	cmd.Stdout, cmd.Stderr = &out, &complaint
	cmd.SysProcAttr = who.attributes(syscall.SIGKILL)
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if said := strings.TrimSpace(complaint.String()); said != "" {
			err = fmt.Errorf("%w: %s", err, said)
		}
		return "", fmt.Errorf("%s: %w", filepath.Base(program), err)
	}
	return out.String(), nil
}

// environment returns ours without the variables that would override PostgreSQL's arguments, and with English messages.
func environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PG") || strings.HasPrefix(v, "LC_") || strings.HasPrefix(v, "LANG")
	})
	return append(env, "LC_ALL=C")
}
