package main

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
	"github.com/tachobench/tacho/internal/pgserver"
	"github.com/tachobench/tacho/internal/tinydisk"
)

// The disk under the log of tacho up fills up while a job runs, and gets room again. Nothing is started again, and everything
// is recorded once.
func TestAFullDiskUnderTheLogOfUp(t *testing.T) {
	t.Parallel()
	s := newSiteOf(t, newShop(t, map[string]int{"v1": 1000, "v2": 1000}))
	s.replace("naps.toml", `"0.01"`, `"0.5"`)
	s.replace("quick.toml", "marks = []", "marks = [95]")
	pg, err := pgserver.Start(t.Context(), pgserver.Config{Dir: filepath.Join(t.TempDir(), "postgres"), Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Stop(t.Context()) })
	s.env = append(s.env, "TACHO_DATABASE_URL="+pg.URL())
	run := slices.Concat([]string{"-c", `mkdir -p "$0" && mount -t tmpfs -o size=48m tacho "$0" && exec "$@"`, s.data("log"), binary},
		[]string{"up", "--listen", "127.0.0.1:0", "--collectors", "0"}, s.args)
	cmd := exec.Command("/bin/sh", run...)
	cmd.SysProcAttr = tinydisk.Attributes()
	up := s.beginAs(cmd)
	up.says(s, "website    ")
	disk := fmt.Sprintf("/proc/%d/root%s", up.cmd.Process.Pid, s.data("log"))
	s.must("collector", "add", "near", "--target", "here", "--set", "0")
	s.begin("collector", "run", "near")
	s.must("request", "master", "v1")
	s.eventually("a job runs", 30*time.Second, func() bool { return strings.Contains(s.must("collector", "list"), "benchmarking") })

	free := tinydisk.Fill(t, disk)
	began := time.Now()
	s.eventually("it is not ready", 10*time.Second, func() bool {
		status, text := s.ready()
		return status == http.StatusServiceUnavailable && strings.Contains(text, "the log takes no more events: its disk")
	})
	t.Logf("/readyz says so after %s", time.Since(began))
	s.eventually("the alert stands", 10*time.Second, func() bool { return strings.Contains(s.must("alerts"), "The log takes nothing more: its disk") })
	t.Logf("the alert stands after %s", time.Since(began))
	s.refused(cli.ExitFailed, []string{"request", "master", "v2"}, "takes no more events: its disk", "free some of the disk")
	s.holdsBack("near")

	free()
	began = time.Now()
	s.eventually("it is ready", 20*time.Second, func() bool {
		status, _ := s.ready()
		return status == http.StatusOK
	})
	t.Logf("ready after %s", time.Since(began))
	s.must("request", "master", "v2")
	for _, tag := range []events.Tag{"v1", "v2"} {
		if r := s.ended(tag); r.State != events.StateCompleted {
			t.Errorf("the request for %s is %s: %s", tag, r.State, r.Reason)
		}
		s.measuredOnce(tag, 6)
	}
	s.eventually("the alert is over", 20*time.Second, func() bool { return !strings.Contains(s.must("alerts"), "The log ") })
	if out := s.must("replay", "--verify"); !strings.Contains(out, "identical") {
		t.Error(out)
	}
}
