package projector

import (
	"testing"

	"github.com/tachobench/tacho/internal/pgtest"
	"github.com/tachobench/tacho/readmodel"
)

// A replay whose swap was committed, and that never heard so, must not drop what everybody reads now. Tables that are not
// live are dropped.
func TestDropSparesTheLiveTables(t *testing.T) {
	url := pgtest.New(t, "migrated", readmodel.Migrate)
	r, err := newReplay(t.Context(), nil, url, ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := connect(t.Context(), url, "public")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	exists := func() (found bool) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), "SELECT to_regclass($1) IS NOT NULL", string(r.scratch)+".alert").Scan(&found); err != nil {
			t.Fatal(err)
		}
		return found
	}
	if r.live, err = readmodel.Live(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	if swapped, _, err := r.swap(t.Context(), conn); !swapped || err != nil {
		t.Fatalf("swapped: %t, %v", swapped, err)
	}
	if live, err := r.drop(t.Context()); !live || err != nil || !exists() {
		t.Errorf("the live tables are taken for live: %t, exist: %t, %v", live, exists(), err)
	}
	if r, err = newReplay(t.Context(), nil, url, ReplayOptions{}); err != nil {
		t.Fatal(err)
	}
	if live, err := r.drop(t.Context()); live || err != nil || exists() {
		t.Errorf("tables beside them are taken for live: %t, exist: %t, %v", live, exists(), err)
	}
}
