package artifact

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWhatTheMachineHasIsNotDownloaded(t *testing.T) {
	web := newServer(t)
	web.publishProgram(t, "v1", 10)
	web.publishProgram(t, "v2", 10)
	here := t.TempDir()
	if err := os.Mkdir(filepath.Join(here, "v1"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := open(t, Config{})
	ref := programRef(web, "v1")
	ref.Source.Path = []string{here + "/{tag}-{target}", here + "/{tag}"}
	if dir, _, _ := acquire(t, s, ref); dir != filepath.Join(here, "v1") {
		t.Errorf("v1 is taken from %s", dir)
	}
	if ready, err := s.Ready(t.Context(), ref); !ready || err != nil {
		t.Errorf("v1 ready: %v, %v", ready, err)
	}
	if got := web.downloads(); len(got) > 0 {
		t.Errorf("downloaded %v", got)
	}
	ref.Tag = "v2"
	acquire(t, s, ref)
	if got := web.downloads(); len(got) != 1 {
		t.Errorf("downloaded %v, want v2", got)
	}
}
