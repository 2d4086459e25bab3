package turns

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tachobench/tacho/internal/retry"
)

const dirVariable, kindVariable = "TACHO_TEST_TURNS", "TACHO_TEST_TURNS_KIND"

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirVariable); dir != "" {
		if err := takeTurns(dir, Kind(os.Getenv(kindVariable))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// clock is the same for all processes.
func clock() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}

// takeTurns takes one turn after another until it is killed. It prints for each when it had it, and when it will let go.
func takeTurns(dir string, kind Kind) error {
	m, err := Open(dir)
	if err != nil {
		return err
	}
	if _, err := m.Join(User{Name: strconv.Itoa(os.Getpid())}); err != nil {
		return err
	}
	for {
		turn, err := m.Take(context.Background(), kind, nil)
		if err != nil {
			return err
		}
		if with := os.Getenv(keepVariable); with != "" {
			return keep(turn, with)
		}
		fmt.Println(clock())
		retry.Sleep(context.Background(), time.Duration(rand.IntN(20))*time.Millisecond)
		fmt.Println(clock())
		turn.Release()
		retry.Sleep(context.Background(), time.Duration(rand.IntN(10))*time.Millisecond)
	}
}

// held is a time for which a process surely had its turn.
type held struct {
	kind     Kind
	from, to int64
}

// process is a process that takes turns and is killed now and then.
type process struct {
	kind  Kind
	turns int
	had   []held
}

// live runs the process until it is killed, after so many turns or sooner: also while it has one, or waits.
func (p *process) live(t *testing.T, dir string, turns int, sooner time.Duration) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), dirVariable+"="+dir, kindVariable+"="+string(p.kind))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return
	}
	var killed int64
	var once sync.Once
	kill := func() {
		once.Do(func() {
			killed = clock()
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		})
	}
	timer := time.AfterFunc(sooner, kill)
	from := int64(0)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		at, err := strconv.ParseInt(lines.Text(), 10, 64)
		switch {
		case err != nil:
			t.Errorf("it says %q", lines.Text())
		case from == 0:
			from = at
		default:
			p.had, from = append(p.had, held{p.kind, from, at}), 0
			if p.turns++; p.turns >= turns {
				kill()
			}
		}
	}
	timer.Stop()
	kill()
	_ = cmd.Wait() // it was killed
	if from > 0 && from < killed {
		p.had = append(p.had, held{p.kind, from, killed})
	}
}

// Nothing measures while something else has a turn, whatever is killed, and all get their turns. The test ends when each
// process had them: it fails by its time limit if one starves.
func TestNoMeasuringOverlapsWhateverIsKilled(t *testing.T) {
	t.Parallel()
	dir := open(t).dir
	const each = 12
	kinds := []Kind{MeasureAlone, Measure, MeasureAlone, Measure, Build, Build, Build, Build}
	var all sync.WaitGroup
	processes := make([]*process, len(kinds))
	for i, kind := range kinds {
		p := &process{kind: kind}
		processes[i] = p
		all.Go(func() {
			for p.turns < each && !t.Failed() {
				p.live(t, dir, each, time.Duration(50+rand.IntN(1500))*time.Millisecond)
			}
		})
	}
	all.Wait()
	var had []held
	for _, p := range processes {
		had = append(had, p.had...)
	}
	together := map[Kind]int{}
	slices.SortFunc(had, func(a, b held) int { return int(a.from - b.from) })
	for i, a := range had {
		for _, b := range had[i+1:] {
			if b.from >= a.to {
				break
			}
			if a.kind != b.kind || a.kind == MeasureAlone {
				t.Errorf("%s and %s at once, for %v", a.kind, b.kind, time.Duration(min(a.to, b.to)-b.from))
			}
			together[a.kind]++
		}
	}
	if together[Build] == 0 {
		t.Error("no builds had their turns together")
	}
	t.Logf("%d turns, together: %v", len(had), together)
}
