package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/tachobench/tacho/internal/subprocess"
)

// programTime is the CPU time of the program whose work nothing was added to.
const programTime = 25 * time.Millisecond

// source is the program: so many rounds of a multiplication, which no compiler can leave out.
const source = `#include <stdlib.h>
int main(int argc, char **argv) {
	volatile unsigned long x = argc;
	for (long i = atol(argv[1]); i > 0; i--) x = x * 6364136223846793005UL + 1442695040888963407UL;
	return 0;
}
`

// work is the built program, and how many rounds take programTime, with all that a program without rounds takes.
type work struct {
	path   string
	rounds int
	// whole is how many rounds would take programTime if a program began and ended in no time.
	whole float64
}

// more returns the argument with which the program takes so many percent more CPU time.
func (w work) more(percent float64) string {
	return strconv.Itoa(w.rounds + int(math.Round(w.whole*percent/100)))
}

// prepareWork builds the program, and finds out how many rounds it does in programTime.
func prepareWork(ctx context.Context, dir string) (work, error) {
	file := filepath.Join(dir, "work.c")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		return work{}, err
	}
	w := work{path: filepath.Join(dir, "work")}
	if out, err := exec.CommandContext(ctx, "cc", "-O1", "-o", w.path, file).CombinedOutput(); err != nil {
		return work{}, fmt.Errorf("build the program with cc (on Debian: apt-get install gcc libc6-dev): %w: %s", err, out)
	}
	const tried = 20_000_000
	idle, err := leastTime(ctx, w.path, 0)
	if err != nil {
		return work{}, err
	}
	busy, err := leastTime(ctx, w.path, tried)
	if err != nil {
		return work{}, err
	}
	if busy <= idle || idle >= programTime {
		return work{}, fmt.Errorf("this machine does not tell the CPU time of a program: %v without rounds, %v with %d", idle, busy, tried)
	}
	each := float64(busy-idle) / tried
	w.rounds, w.whole = int(float64(programTime-idle)/each), float64(programTime)/each
	return w, nil
}

// leastTime returns the least CPU time of some runs with so many rounds.
func leastTime(ctx context.Context, path string, rounds int) (least time.Duration, err error) {
	least = math.MaxInt64
	for range 20 {
		cmd := exec.CommandContext(ctx, path, strconv.Itoa(rounds))
		if err := cmd.Run(); err != nil {
			return 0, err
		}
		least = min(least, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	return least, nil
}

// neighbourWord makes this program the neighbour.
const neighbourWord = "neighbour"

// beNeighbour burns all CPUs every other second, until it is killed.
func beNeighbour() {
	for range runtime.NumCPU() {
		go func() {
			for began := time.Now(); ; {
				for time.Since(began) < time.Second {
					continue
				}
				time.Sleep(time.Second)
				began = time.Now()
			}
		}()
	}
	select {}
}

// startNeighbour starts the neighbour. It also ends with this process.
func startNeighbour() (end func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, neighbourWord)
	// The kernel kills it when the thread that started it ends, and main keeps this one.
	runtime.LockOSThread()
	subprocess.DieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the neighbour: %w", err)
	}
	return func() {
		// It was killed, so its end is an error.
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		runtime.UnlockOSThread()
	}, nil
}
