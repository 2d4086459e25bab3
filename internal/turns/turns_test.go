package turns

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func open(t *testing.T) *Machine {
	t.Helper()
	m, err := Open(filepath.Join(t.TempDir(), "turns"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// now takes a turn that is free.
func now(t *testing.T, m *Machine, kind Kind) *Turn {
	t.Helper()
	turn, err := m.Take(t.Context(), kind, func() { t.Errorf("%s waits", kind) })
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

// later asks for a turn that is not free, and returns once it waits.
func later(t *testing.T, m *Machine, kind Kind) <-chan *Turn {
	t.Helper()
	waits, got := make(chan struct{}), make(chan *Turn, 1)
	go func() {
		turn, err := m.Take(t.Context(), kind, func() { close(waits) })
		if err != nil {
			t.Error(err)
		}
		got <- turn
	}()
	select {
	case <-waits:
	case <-got:
		t.Fatalf("%s did not wait", kind)
	}
	return got
}

func still(t *testing.T, got <-chan *Turn, why string) {
	t.Helper()
	select {
	case <-got:
		t.Fatal(why)
	default:
	}
}

func TestBuildsShareAndMeasuringIsAlone(t *testing.T) {
	m := open(t)
	one, two := now(t, m, Build), now(t, m, Build)
	measures := later(t, m, MeasureAlone)
	one.Release()
	still(t, measures, "it measures beside a build")
	two.Release()
	turn := <-measures
	another := later(t, m, MeasureAlone)
	turn.Release()
	(<-another).Release()
}

func TestSomeMeasureTogether(t *testing.T) {
	m := open(t)
	one := now(t, m, Measure)
	two := now(t, m, Measure)
	build := later(t, m, Build)
	one.Release()
	still(t, build, "it builds beside what measures")
	two.Release()
	turn := <-build
	measures := later(t, m, Measure)
	turn.Release()
	(<-measures).Release()
}

func TestMeasuringComesBeforeNewBuilds(t *testing.T) {
	m := open(t)
	ran := now(t, m, Build)
	measures := later(t, m, MeasureAlone)
	build := later(t, m, Build)
	ran.Release()
	turn := <-measures
	still(t, build, "a new build came first")
	turn.Release()
	(<-build).Release()
}

func TestWaitingBuildsComeBetweenTwoThatMeasure(t *testing.T) {
	m := open(t)
	first := now(t, m, MeasureAlone)
	build := later(t, m, Build)
	second := later(t, m, MeasureAlone)
	first.Release()
	turn := <-build
	still(t, second, "it measures beside a build")
	turn.Release()
	(<-second).Release()
}

func TestAStopEndsTheWait(t *testing.T) {
	m := open(t)
	held := now(t, m, Build)
	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	if _, err := m.Take(ctx, MeasureAlone, func() { stop(stopped) }); !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
	now(t, m, Build).Release()
	held.Release()
}

// The command of a collector that was killed has the machine until it has ended.
func TestAChildKeepsTheTurn(t *testing.T) {
	m := open(t)
	turn := now(t, m, MeasureAlone)
	file, err := turn.Copy()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), "cat")
	child.ExtraFiles = []*os.File{file}
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	turn.Release()
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	build := later(t, m, Build)
	if err := errors.Join(in.Close(), child.Wait()); err != nil {
		t.Fatal(err)
	}
	(<-build).Release()
}

func TestUsersAreThoseThatRun(t *testing.T) {
	m := open(t)
	leave, err := m.Join(User{Name: "eider", PID: 7, Measures: MeasureAlone})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Join(User{Name: "eider"})
	if err == nil {
		t.Error("two processes have one name")
	}
	_, err = m.Join(User{Name: "../eider"})
	if err == nil {
		t.Error("a name leads out of the directory")
	}
	if users := Users(m.dir); len(users) != 1 || users[0] != (User{Name: "eider", PID: 7, Measures: MeasureAlone}) {
		t.Errorf("got %v", users)
	}
	leave()
	if users := Users(m.dir); len(users) != 0 {
		t.Errorf("%v is still there", users)
	}
}

// A process that has just measured leaves the machine to others, but only if there are any.
func TestWhoMeasuredStaysAway(t *testing.T) {
	m := open(t)
	for _, name := range []string{"a", "b"} {
		now(t, m, MeasureAlone).Release()
		began := time.Now()
		now(t, m, MeasureAlone).Release()
		if time.Since(began) > away/2 {
			t.Errorf("it stays away with %d users", len(Users(m.dir)))
		}
		leave, err := m.Join(User{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
	}
	began := time.Now()
	now(t, m, MeasureAlone).Release()
	if time.Since(began) < away/2 {
		t.Error("it was the first again")
	}
}

func TestADirectoryThatCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(file, "turns")); err == nil {
		t.Error("there is no directory")
	}
}
