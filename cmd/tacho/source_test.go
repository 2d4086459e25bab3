package main

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/cli"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// shop serves artifacts: archives with one file of so many bytes that cannot be compressed.
type shop struct {
	*httptest.Server
	sizes map[string]int
	// closed makes every answer a 503. asked counts the requests.
	closed atomic.Bool
	asked  atomic.Int64
}

func newShop(t *testing.T, sizes map[string]int) *shop {
	t.Helper()
	s := &shop{sizes: sizes}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size, ok := s.sizes[strings.TrimSuffix(path.Base(r.URL.Path), ".tar.gz")]
		switch {
		case !ok:
			http.NotFound(w, r)
		case s.closed.Load():
			s.asked.Add(1)
			http.Error(w, "closed", http.StatusServiceUnavailable)
		case r.Method == http.MethodGet:
			if err := archive(w, size); err != nil {
				// The client has gone, as a collector without room does.
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func archive(w io.Writer, size int) error {
	z := gzip.NewWriter(w)
	a := tar.NewWriter(z)
	if err := a.WriteHeader(&tar.Header{Name: "tool/data", Mode: 0o644, Size: int64(size)}); err != nil {
		return err
	}
	if _, err := io.CopyN(a, rand.NewChaCha8([32]byte{}), int64(size)); err != nil {
		return err
	}
	if err := a.Close(); err != nil {
		return err
	}
	return z.Close()
}

// newSiteOf is a site whose artifacts come from the shop.
func newSiteOf(t *testing.T, from *shop) *site {
	t.Helper()
	s := newSite(t)
	s.replace("naps.toml", "kind = \"path\"\npath = [\""+s.dir+"/artifacts/{tag}\"]", "kind = \"url\"\nurls = [\""+from.URL+"/{tag}.tar.gz\"]")
	s.replace("naps.toml", "sets = 2", "sets = 1")
	s.replace("naps.toml", "{ here = 1 }", "{ here = 0 }")
	s.replace("naps.toml", "[[profile]]\nname = \"slow\"\n", "")
	s.replace("naps.toml", `"0.1"`, `"0.01"`)
	s.replace("naps.toml", `"0.15"`, `"0.01"`)
	s.replace("naps.toml", `"0.2"`, `"0.01"`)
	return s
}

// ended waits until the request of the tag has ended.
func (s *site) ended(tag events.Tag) readmodel.RequestJobs {
	s.t.Helper()
	var r readmodel.RequestJobs
	s.eventually(fmt.Sprintf("the request for %s ends", tag), 60*time.Second, func() bool {
		c, ok := s.client()
		if !ok {
			return false
		}
		var err error
		r, err = c.Request(s.t.Context(), string(tag))
		return err == nil && r.EndedAt != nil
	})
	return r
}

// count returns how many events of a type the log has.
func (s *site) count(kind string) int {
	s.t.Helper()
	c, ok := s.client()
	if !ok {
		s.t.Fatal("tacho up does not answer")
	}
	list, err := c.Events(s.t.Context(), client.EventQuery{Type: kind})
	if err != nil {
		s.t.Fatal(err)
	}
	return len(list)
}

// An artifact that does not exist ends its job at once. An artifact whose server fails for a while is fetched again.
func TestAnArtifactThatIsGoneAndOneThatIsAway(t *testing.T) {
	t.Parallel()
	from := newShop(t, map[string]int{"v1": 1000})
	s := newSiteOf(t, from)
	s.start()

	out, errs, code := s.run("request", "master", "gone", "--wait")
	if code != cli.ExitFailed || out != "" || !strings.Contains(errs, "tacho request show") {
		t.Errorf("a request that fails: exit code %d, %s%s", code, out, errs)
	}
	r := s.ended("gone")
	if r.State != events.StateFailed || len(r.JobList) != 1 {
		t.Fatalf("the request is %s with %d jobs", r.State, len(r.JobList))
	}
	j := r.JobList[0]
	if j.Attempts != 1 || !strings.Contains(j.Reason, "does not exist: check the tag") || !strings.Contains(j.Reason, from.URL+"/gone.tar.gz") {
		t.Errorf("after %d attempts: %s", j.Attempts, j.Reason)
	}

	from.closed.Store(true)
	s.must("request", "master", "v1")
	s.eventually("the attempt is given back and begun again", 30*time.Second, func() bool {
		return s.count("attempt.released.v1") >= 2 && from.asked.Load() >= 2
	})
	from.closed.Store(false)
	if r = s.ended("v1"); r.State != events.StateCompleted {
		t.Errorf("the request is %s: %s", r.State, r.Reason)
	}
	if j := r.JobList[0]; j.Measured != 6 || j.Attempts < 3 {
		t.Errorf("%d test cases after %d attempts", j.Measured, j.Attempts)
	}
	told := false
	for _, e := range s.events() {
		f, ok := e.Fact.(events.ErrorRecorded)
		told = told || ok && f.Kind == events.ErrorTransient && strings.Contains(f.Message, "503")
	}
	if !told {
		t.Error("the log does not say that the server answered 503")
	}
	s.checkLogOf("gone")
}

// checkLogOf looks for what must never happen, among jobs some of which fail.
func (s *site) checkLogOf(failing ...events.Tag) {
	s.t.Helper()
	current := map[events.Lane]events.JobID{}
	for _, e := range s.events() {
		// The other events cannot break these rules.
		//exhaustive:ignore
		switch f := e.Fact.(type) {
		case events.JobDequeued:
			if id, busy := current[f.Lane]; busy {
				s.t.Errorf("event %d: job %s is dequeued while %s is current", e.Seq, f.Job.ID, id)
			}
			current[f.Lane] = f.Job.ID
		case events.JobFinished:
			delete(current, f.Lane)
		case events.AttemptReleased:
			delete(current, f.Lane)
		case events.AttemptLost:
			s.t.Errorf("event %d: an attempt is lost: %s", e.Seq, f.Reason)
		case events.RequestFailed:
			r := s.ended(failing[0])
			if f.RequestID != r.ID {
				s.t.Errorf("event %d: request %s fails: %s", e.Seq, f.RequestID, f.Reason)
			}
		}
	}
	if len(current) > 0 {
		s.t.Errorf("jobs have no end: %v", current)
	}
}
