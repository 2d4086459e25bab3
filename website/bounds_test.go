package website

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/readmodel"
)

func address(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(n)}) }

func TestAVisitorIsTheNearestAddressThatIsNoProxy(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		peer      string
		forwarded []string
		want      string
	}{
		{peer: "192.0.2.1:7", want: "192.0.2.1"},
		{peer: "192.0.2.1:7", forwarded: []string{"198.51.100.1"}, want: "192.0.2.1"}, // any client can write that
		{peer: "10.0.0.1:7", want: "10.0.0.1"},
		{peer: "10.0.0.1:7", forwarded: []string{"198.51.100.1"}, want: "198.51.100.1"},
		{peer: "10.0.0.1:7", forwarded: []string{"203.0.113.9, 198.51.100.1, 10.2.2.2"}, want: "198.51.100.1"},
		{peer: "10.0.0.1:7", forwarded: []string{"203.0.113.9", "198.51.100.1"}, want: "198.51.100.1"},
		{peer: "10.0.0.1:7", forwarded: []string{"198.51.100.1:4321"}, want: "198.51.100.1"},
		{peer: "10.0.0.1:7", forwarded: []string{"198.51.100.1, unknown"}, want: "10.0.0.1"},
		{peer: "10.0.0.1:7", forwarded: []string{"10.0.0.9"}, want: "10.0.0.9"},
		{peer: "[::ffff:10.0.0.1]:7", forwarded: []string{"::ffff:198.51.100.1"}, want: "198.51.100.1"},
		{peer: "[2001:db8:1:2:3:4:5:6]:7", want: "2001:db8:1:2::"},
		{peer: "[fd00::1]:7", forwarded: []string{"[2001:db8:1:2:ffff::1]:80"}, want: "2001:db8:1:2::"},
		{peer: "[fe80::1%eth0]:7", want: "fe80::"},
		{peer: "@", want: "invalid IP"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.peer
		r.Header["X-Forwarded-For"] = c.forwarded
		if got := visitor(r, trusted).String(); got != c.want {
			t.Errorf("%s, %q: %s, want %s", c.peer, c.forwarded, got, c.want)
		}
	}
}

// However places are taken and given back, no address has more than the bounds allow, and no place is lost.
func TestPlacesAreNeverMoreThanTheBoundsAndNeverLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		each := rapid.IntRange(1, 8).Draw(t, "each")
		all := each + rapid.IntRange(0, 24).Draw(t, "more")
		p := newPlaces(all, each, min(4, each))
		taken, has := 0, map[netip.Addr]int{}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				who := address(rapid.IntRange(0, 9).Draw(t, "who"))
				reached, ok := p.take(who, 1)
				if want := has[who] < each; !want && (ok || reached != ofAddress) {
					t.Fatalf("%s has %d of %d and gets %q, %v", who, has[who], each, reached, ok)
				}
				if !ok && has[who] == 0 && taken < all {
					t.Fatalf("%s has none, %d of %d are taken, and it gets none", who, taken, all)
				}
				if ok {
					taken++
					has[who]++
				}
			},
			"give": func(t *rapid.T) {
				who := address(rapid.IntRange(0, 9).Draw(t, "who"))
				if has[who] > 0 {
					p.give(who, 1)
					taken--
					has[who]--
				}
			},
			"": func(t *rapid.T) {
				if p.taken != taken || taken > all {
					t.Fatalf("%d are taken, want %d of %d", p.taken, taken, all)
				}
			},
		})
		for who, n := range has {
			p.give(who, n)
		}
		if p.taken != 0 || len(p.by) != 0 {
			t.Fatalf("left over: %d, %v", p.taken, p.by)
		}
	})
}

// Many come at once, and many leave before their turn: there are never more turns than allowed, and none is lost.
func TestTurnsAreNeverMoreAndNeverLost(t *testing.T) {
	const atOnce, many = 3, 400
	line := newTurns(atOnce)
	var have, got atomic.Int64
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if rand.IntN(2) == 0 {
				go cancel()
			}
			done, err := line.take(ctx, address(i%7))
			if err != nil {
				return
			}
			if n := have.Add(1); n > atOnce {
				t.Errorf("%d at once", n)
			}
			got.Add(1)
			have.Add(-1)
			done()
		})
	}
	all.Wait()
	if line.free != atOnce || len(line.lines) != 0 || len(line.order) != 0 || line.length() != 0 {
		t.Errorf("left over: %+v", line)
	}
	if got.Load() == 0 {
		t.Error("nobody had a turn")
	}
}

func TestLinesAreServedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := newTurns(1)
		done, err := line.take(t.Context(), address(0))
		if err != nil {
			t.Fatal(err)
		}
		var served []string
		for _, who := range []int{1, 1, 1, 2, 3, 2} {
			go func() {
				done, err := line.take(t.Context(), address(who))
				if err != nil {
					t.Error(err)
					return
				}
				served = append(served, fmt.Sprint(who))
				done()
			}()
			synctest.Wait() // in this order
		}
		done()
		synctest.Wait()
		if diff := cmp.Diff([]string{"1", "2", "3", "1", "2", "1"}, served); diff != "" {
			t.Error(diff)
		}
	})
}

// While pages wait, long reads leave them at least half of the time.
func TestLongReadsPauseWhilePagesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages, long := newTurns(1), newTurns(1)
		long.yieldTo = pages
		read := func(lasts time.Duration) {
			t.Helper()
			done, err := long.take(t.Context(), address(1))
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(lasts)
			done()
		}
		began := time.Now()
		read(30 * time.Millisecond)
		read(30 * time.Millisecond)
		if took := time.Since(began); took != 60*time.Millisecond {
			t.Errorf("nobody waits, and two reads took %s", took)
		}
		page, err := pages.take(t.Context(), address(2))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if done, err := pages.take(t.Context(), address(3)); err == nil {
				done()
			}
		}()
		synctest.Wait()
		began = time.Now()
		read(30 * time.Millisecond)
		read(time.Second)
		read(0)
		if took := time.Since(began); took != 30*time.Millisecond*2+time.Second+longestPause {
			t.Errorf("a page waits, and three reads took %s", took)
		}
		page()
	})
}

func TestWhatIsSharedIsReadAfterItWasAskedFor(t *testing.T) {
	all := newShared[int64]()
	var reads, stored atomic.Int64
	var readers sync.WaitGroup
	for range 50 {
		readers.Go(func() {
			for range 20 {
				wrote := stored.Add(1)
				got, err := all.get(t.Context(), func() (int64, error) {
					reads.Add(1)
					return stored.Load(), nil
				})
				if err != nil || got < wrote {
					t.Errorf("wrote %d and read %d: %v", wrote, got, err)
				}
			}
		})
	}
	readers.Wait()
	t.Logf("1000 answers of %d reads", reads.Load())
}

func TestWhatItsReaderLeftAnswersNobodyElse(t *testing.T) {
	all := newShared[string]()
	ctx, leave := context.WithCancel(t.Context())
	reading, second := make(chan struct{}), make(chan error, 1)
	go func() {
		<-reading
		got, err := all.get(t.Context(), func() (string, error) { return "read again", nil })
		if got != "read again" {
			err = errors.Join(err, fmt.Errorf("got %q", got))
		}
		second <- err
	}()
	_, err := all.get(ctx, func() (string, error) {
		close(reading)
		leave()
		return "", ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("who left: %v", err)
	}
	if err := <-second; err != nil {
		t.Error(err)
	}
}

func TestPartsOfTheLogAreKeptForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := newRecent()
		at := func(n int) readmodel.EventFilter { return readmodel.EventFilter{After: 1, Limit: n} }
		full, end := &stretch{text: make([]byte, recentBytes/4), heard: 7, read: time.Now()}, &stretch{heard: 7, ended: true, read: time.Now()}
		kept.keep(at(1), full)
		kept.keep(at(2), end)
		if kept.find(at(1), 9) != full || kept.find(at(2), 7) != end {
			t.Error("what was read is not there")
		}
		if kept.find(at(2), 8) != nil {
			t.Error("there is more, and the old end is shown")
		}
		for n := range 5 {
			kept.keep(at(10+n), &stretch{text: make([]byte, recentBytes/4), read: time.Now()})
		}
		if kept.find(at(1), 0) != nil || kept.bytes > recentBytes || len(kept.kept) != 4 || len(kept.order) != 4 {
			t.Errorf("%d bytes in %d parts", kept.bytes, len(kept.kept))
		}
		<-time.After(recentFor + time.Second)
		if kept.find(at(14), 0) != nil {
			t.Error("it is old")
		}
		kept.keep(at(20), &stretch{read: time.Now()})
		if len(kept.kept) != 1 || kept.bytes != 0 {
			t.Errorf("%d bytes in %d parts", kept.bytes, len(kept.kept))
		}
	})
}
