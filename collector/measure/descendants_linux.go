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
// must not come to an end of its own. It sees one moment: call it again until nothing is left.
func killDescendants(root int) {
	children := map[int][]int{}
	for pid, parent := range allParents() {
		children[parent] = append(children[parent], pid)
	}
	// The processes were read one after the other: a number that was used again must not lead round in circles.
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

// killIf kills pid if it still has an expected parent: the number may belong to another process by now.
// The descriptor holds on to the process, so that what is checked is what is killed.
func killIf(pid int, expected func(parent int) bool) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil && !errors.Is(err, unix.ENOSYS) {
		return // it is gone
	}
	handle := err == nil
	if handle {
		defer func() { _ = unix.Close(fd) }()
	}
	parent, there := parentOf(pid)
	if !there || !expected(parent) {
		return
	}
	// A process that is gone by now needs no kill, and one that refuses it is met again in the next round.
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

// reapAll waits until this process has no children left, and calls kill as often as it takes. It relies
// on this process being the sub-reaper: then every descendant ends up as its child.
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
		// The next to die makes the next round; an error shows itself there.
		_, _ = unix.Wait4(-1, &status, 0, nil)
	}
}
