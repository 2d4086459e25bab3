package datadir

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/control"
)

func TestWhatIsAnnouncedIsFoundUntilItIsWithdrawn(t *testing.T) {
	d := Dir(t.TempDir())
	if r, ok := d.Find(); ok {
		t.Errorf("found %+v in an empty directory", r)
	}
	here := Running{URL: "https://localhost:1", NATSURL: "nats://localhost:2", CA: []string{"web.pem"}, PID: 7, Version: "v1"}
	if err := d.Announce(here); err != nil {
		t.Fatal(err)
	}
	if r, ok := d.Find(); !ok || !cmp.Equal(r, here) {
		t.Errorf("found %+v, %t", r, ok)
	}
	for range 2 { // the second time there is nothing left
		if err := d.Withdraw(); err != nil {
			t.Error(err)
		}
	}
	if _, ok := d.Find(); ok {
		t.Error("it is still found")
	}
}

func TestTheTokenIsMadeOnceAndForItsOwnerAlone(t *testing.T) {
	d := Dir(t.TempDir())
	if got := d.KnownToken(); got != "" {
		t.Errorf("an empty directory has the token %q", got)
	}
	first, err := d.Token()
	if err != nil || len(first) < 20 {
		t.Fatalf("%q %v", first, err)
	}
	if again, err := d.Token(); err != nil || again != first || d.KnownToken() != first {
		t.Errorf("%q and %q (%v), want %q", again, d.KnownToken(), err, first)
	}
	if info, err := os.Stat(d.Path("token")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// A write that fails leaves the old file, and nothing beside it.
func TestAFailedWriteLeavesNothing(t *testing.T) {
	d := Dir(t.TempDir())
	if err := os.MkdirAll(d.Path("name", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.Write("name", "text"); err == nil {
		t.Fatal("a directory was replaced by a file")
	}
	entries, err := os.ReadDir(string(d))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v %v", entries, err)
	}
}

func TestCredentialsKeepTheirKey(t *testing.T) {
	d := Dir(t.TempDir())
	first, public, err := d.NewCredentials("eider", "here", 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Keep(first); err != nil {
		t.Fatal(err)
	}
	again, samePublic, err := d.NewCredentials("eider", "there", 2)
	if err != nil || again.Seed != first.Seed || samePublic != public || again.Target != "there" || again.Set != 2 {
		t.Errorf("%+v %s %v, want the key of %+v", again, samePublic, err, first)
	}
	if err := again.NewKey(); err != nil {
		t.Fatal(err)
	}
	if err := d.KeepNext(again); err != nil {
		t.Fatal(err)
	}
	next, err := ReadCredentials(NextFile(d.CredentialsFile("eider")))
	if err != nil || next.Seed != again.Seed || next.Seed == first.Seed {
		t.Errorf("beside them are %+v (%v)", next, err)
	}
	if kept, err := ReadCredentials(d.CredentialsFile("eider")); err != nil || kept.Seed != first.Seed {
		t.Errorf("in their place are %+v (%v)", kept, err)
	}
}

func TestCredentialsThatCannotBeRead(t *testing.T) {
	d := Dir(t.TempDir())
	if _, err := ReadCredentials(d.CredentialsFile("eider")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	if err := d.Write("credentials/eider.json", "{"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.NewCredentials("eider", "here", 0); err == nil || !strings.Contains(err.Error(), d.CredentialsFile("eider")) {
		t.Errorf("half a file: %v", err)
	}
	if _, err := (Credentials{Name: "eider", Seed: "SUnot"}).PublicKey(); err == nil || !strings.Contains(err.Error(), "collector eider") {
		t.Errorf("no key: %v", err)
	}
}

// One process at a time holds a lock. A second one learns which, and takes the lock when the first one releases it.
func TestALockSaysWhoHoldsIt(t *testing.T) {
	d := Dir(t.TempDir())
	for name, take := range map[string]func() (func(), error){
		"the data directory": d.Own,
		"collector eider already runs": func() (func(), error) {
			_, unlock, err := d.OwnCollector("eider", "instance")
			return unlock, err
		},
		"collector eider is already supervised": func() (func(), error) { return d.OwnVersions("eider") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // a lock is waited for
			unlock, err := take()
			if err != nil {
				t.Fatal(err)
			}
			_, err = take()
			refused, ok := errors.AsType[*control.RefusedError](err)
			if !ok || refused.Kind != control.Conflict || !strings.Contains(refused.Reason, name) {
				t.Errorf("the second: %v", err)
			}
			unlock()
			if unlock, err = take(); err != nil {
				t.Fatal(err)
			}
			unlock()
		})
	}
}

func TestACollectorLearnsWhoItWasBefore(t *testing.T) {
	d := Dir(t.TempDir())
	for _, step := range []struct{ now, before string }{{"a", ""}, {"b", "a"}, {"c", "b"}} {
		last, unlock, err := d.OwnCollector("eider", step.now)
		if err != nil || last != step.before {
			t.Errorf("%s: before it was %q (%v), want %q", step.now, last, err, step.before)
		}
		unlock()
	}
}
