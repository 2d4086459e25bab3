package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestLockCacheIsHeldAgainstOthers(t *testing.T) {
	cache := t.TempDir()
	unlock, err := lockCache(t.Context(), cache, "go", "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("enough")
	cancel(gone)
	if _, err := lockCache(ctx, cache, "go", "a"); !errors.Is(err, gone) {
		t.Errorf("a second lock: %v", err)
	}
	taken := make(chan error, 1)
	go func() {
		unlock, err := lockCache(t.Context(), cache, "go", "a")
		if err == nil {
			unlock()
		}
		taken <- err
	}()
	unlock()
	if err := <-taken; err != nil {
		t.Errorf("after unlocking: %v", err)
	}
}

func TestLockCachePrunes(t *testing.T) {
	cache := t.TempDir()
	entry := func(i int) string { return fmt.Sprint("entry", i) }
	held, err := lockCache(t.Context(), cache, "go", entry(0))
	if err != nil {
		t.Fatal(err)
	}
	defer held()
	for i := 1; i < keepEntries+2; i++ {
		unlock, err := lockCache(t.Context(), cache, "go", entry(i))
		if err != nil {
			t.Fatal(err)
		}
		unlock()
	}
	// From now on the age of an entry is its number.
	start := time.Now().Add(-time.Hour)
	for i := range keepEntries + 2 {
		at := start.Add(time.Duration(i) * time.Second)
		if err := os.Chtimes(filepath.Join(cache, "go", entry(i)+lockSuffix), at, at); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(cache, "go", entry(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	unlock, err := lockCache(t.Context(), cache, "go", "new")
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	for i := range keepEntries + 2 {
		_, err := os.Stat(filepath.Join(cache, "go", entry(i)))
		// The oldest entry is held. With "new", the next two are too many.
		if kept := err == nil; kept != (i == 0 || i > 2) {
			t.Errorf("%s kept: %v", entry(i), kept)
		}
	}
}
