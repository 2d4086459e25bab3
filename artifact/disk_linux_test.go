package artifact

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk runs a helper with a disk of its own, in namespaces of its own.
func TestFullDisk(t *testing.T) {
	web := newServer(t)
	for _, tag := range []string{"a", "b", "c"} {
		web.publishProgram(t, tag, 1_500_000)
	}
	web.publishProgram(t, "huge", 8_000_000)
	disk := helper(t, "small disk", "DIR="+t.TempDir(), "URL="+web.URL)
	disk.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := disk.Output()
	if err != nil {
		t.Fatalf("helper: %v: %s", err, out)
	}
	want := "a fits\nb fits\nc fits\nhuge: no space, transient: true, names the directory: true\nin use and whole: 1500000\nleft: 1 entries\nc again: fits\n"
	if string(out) != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
}

func onSmallDisk() {
	dir := os.Getenv("DIR")
	if err := syscall.Mount("tacho", dir, "tmpfs", 0, "size=4m"); err != nil {
		panic(err)
	}
	s, err := Open(Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	var use string
	for _, tag := range []string{"a", "b", "c"} {
		path, _, release, err := s.Acquire(ctx, helperRef(tag))
		if err != nil {
			panic(err)
		}
		fmt.Println(tag, "fits")
		if use = path; tag != "c" {
			release()
		}
	}
	_, _, _, err = s.Acquire(ctx, helperRef("huge"))
	var full *NoSpaceError
	fmt.Printf("huge: no space, transient: %v, names the directory: %v\n", errors.As(err, &full) && !Permanent(err), strings.Contains(err.Error(), dir))
	info, err := os.Stat(filepath.Join(use, "bin/program"))
	if err != nil {
		panic(err)
	}
	fmt.Println("in use and whole:", info.Size())
	left, err := s.keys("")
	if err != nil {
		panic(err)
	}
	fmt.Println("left:", len(left), "entries")
	if _, _, _, err := s.Acquire(ctx, helperRef("c")); err != nil {
		panic(err)
	}
	fmt.Println("c again: fits")
}
