package measure

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// killDescendants kills every process below root, parents before their children: a parent that sees its child die
// must not end by itself. It sees only the processes of one moment: call it again until none is left.
func killDescendants(root int) {
	children := map[int][]int{}
	for pid, parent := range allParents() {
		children[parent] = append(children[parent], pid)
	}
	// The processes are read one after the other, so a process number may be used again meanwhile. That must not
	// cause an endless loop.
	family, order := map[int]bool{root: true}, slices.Clone(children[root])
	for i := 0; i < len(order); i++ {
		if pid := order[i]; !family[pid] {
			family[pid] = true
			order = append(order, children[pid]...)
		}
	}
	delete(family, root)
	for _, pid := range order {
		killIf(pid, func(parent int) bool { return parent == root || family[parent] })
	}
}

// killIf kills pid if it still has an expected parent: by now the number may belong to another process. The
// descriptor holds the process, so that the checked process is the one that is killed.
func killIf(pid int, expected func(parent int) bool) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil && !errors.Is(err, unix.ENOSYS) {
		return // the process has ended
	}
	handle := err == nil
	if handle {
		defer func() { _ = unix.Close(fd) }()
	}
	parent, there := parentOf(pid)
	if !there || !expected(parent) {
		return
	}
	// A process that has ended by now needs no kill. If a kill fails, the next round tries again.
	if handle {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	} else {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// allParents maps every process to its parent.
func allParents() map[int]int {
	parents := map[int]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return parents
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if parent, there := parentOf(pid); there {
			parents[pid] = parent
		}
	}
	return parents
}

func parentOf(pid int) (int, bool) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, false
	}
	parent, err := parseParent(data)
	return parent, err == nil
}

// reapAll waits until this process has no children left, and calls kill as often as that takes. This process must be
// the sub-reaper: then every descendant becomes its child in the end.
func reapAll(kill func()) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR) || pid > 0:
			continue
		case err != nil:
			return // no children
		}
		kill()
		// Wait for the next child to end, then start the next round. If this fails, that round fails in the same way.
		_, _ = unix.Wait4(-1, &status, 0, nil)
	}
}
