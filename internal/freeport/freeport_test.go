package freeport

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// askEnv makes the test binary a process that prints addresses and lives until its input ends.
const askEnv = "TACHO_FREEPORT_TEST_ASK"

func TestMain(m *testing.M) {
	if os.Getenv(askEnv) == "" {
		os.Exit(m.Run())
	}
	addrs, err := Addresses(each)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(strings.Join(addrs, " "))
	var nothing string
	_, _ = fmt.Scanln(&nothing) // its error is the end that it waits for
}

// each is how many addresses each process asks for.
const each = 300

// Whoever asks, and in whatever process: nobody gets the address of another, nor one that the kernel may give away, and everybody
// can listen where nobody did.
func TestNobodyGetsAnAddressTwice(t *testing.T) {
	low, high := chosen()
	had := map[string]bool{}
	note := func(addrs []string) {
		t.Helper()
		if len(addrs) != each {
			t.Errorf("%d addresses", len(addrs))
		}
		for _, a := range addrs {
			if had[a] {
				t.Errorf("%s was given twice", a)
			}
			had[a] = true
			at, err := net.ResolveTCPAddr("tcp", a)
			if err != nil || low <= at.Port && at.Port <= high {
				t.Errorf("%s, %v: the kernel chooses from %d to %d", a, err, low, high)
			}
			l, err := net.Listen("tcp", a)
			if err != nil {
				t.Error(err)
				continue
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	for range 2 {
		cmd := exec.Command(os.Args[0])
		cmd.Env, cmd.Stderr = append(os.Environ(), askEnv+"=yes"), os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := in.Close(); err != nil {
				t.Error(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
		addrs := make([]string, each)
		for i := range addrs {
			if _, err := fmt.Fscan(out, &addrs[i]); err != nil {
				t.Fatal(err)
			}
		}
		note(addrs)
	}
	for range 3 {
		addrs, err := Addresses(each)
		if err != nil {
			t.Fatal(err)
		}
		note(addrs)
	}
}

// A port on which a server listens, or that a process has for datagrams, is none.
func TestWhatOthersHaveIsNotFree(t *testing.T) {
	addrs, err := Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	at, err := net.ResolveTCPAddr("tcp", addrs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := mark(at.Port); err == nil {
		t.Errorf("%s was marked twice", addrs[0])
	}
}
