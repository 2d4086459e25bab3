package sitetest

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/website/client"
)

// walk reads a list page by page, as the header Link says, and returns what the pattern finds on each page.
func (s *site) walk(path string, pattern *regexp.Regexp) (pages [][]string) {
	s.t.Helper()
	next := regexp.MustCompile(`^<([^>]*)>; rel="next"$`)
	for path != "" {
		resp, body := s.get(path)
		if resp.StatusCode != http.StatusOK {
			s.t.Fatalf("%s: %s %s", path, resp.Status, body)
		}
		pages = append(pages, nil)
		for _, found := range pattern.FindAllStringSubmatch(body, -1) {
			pages[len(pages)-1] = append(pages[len(pages)-1], found[1])
		}
		path = ""
		if link := next.FindStringSubmatch(resp.Header.Get("Link")); link != nil {
			path = link[1]
		}
	}
	return pages
}

// Page by page each list has the same as all at once.
func TestListsNameTheirNextPages(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	s.machines() // waits for the tables
	for path, pattern := range map[string]string{
		"queue": `"request_id":"([^"]*)"`, "requests?kind=master": `"request_id":"([^"]*)","kind"`, "jobs": `"job_id":"([^"]*)"`, "events?after=0": `"seq":(\d+),"subject"`,
		"events": `"seq":(\d+),"subject"`, "definitions": `"digest":"([^"]*)"`,
	} {
		of := regexp.MustCompile(pattern)
		limit := "?limit="
		if strings.Contains(path, "?") {
			limit = "&limit="
		}
		whole := s.walk("/api/v1/"+path+limit+"1000", of)
		if len(whole) != 1 || len(whole[0]) == 0 {
			t.Fatalf("%s: %v", path, whole)
		}
		parts := s.walk("/api/v1/"+path+limit+"1", of)
		if last := parts[len(parts)-1]; len(last) != 0 {
			t.Errorf("%s: the last page has %v", path, last)
		}
		for i, part := range parts[:len(parts)-1] {
			if len(part) != 1 {
				t.Errorf("%s: page %d has %v", path, i, part)
			}
		}
		if all := slices.Concat(parts...); !slices.Equal(all, whole[0]) {
			t.Errorf("%s: page by page %v, at once %v", path, all, whole[0])
		}
	}
	if resp, body := s.get("/api/v1/jobs?after=7"); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "the header Link") {
		t.Errorf("a place that no page names: %s %s", resp.Status, body)
	}
	st.shows("/queue", []string{string(st.running), string(st.release), string(st.try)}, []string{"more follow"})
	st.shows("/queue?limit=1", []string{string(st.running), `<a href="/queue?after=1">2 more follow</a>`}, []string{string(st.release)})
	st.shows("/queue?after=1", []string{string(st.release), `<span class="count">3</span>`}, []string{string(st.running)})
	st.shows("/queue?after=3", []string{"No request waits at this place"}, nil)
}

// A part of the queue moves with the requests before it as time passes.
func TestAPartOfTheQueueIsAsLateAsItsHead(t *testing.T) {
	s := open(t, nil)
	s.story()
	s.machines()
	s.clock.advance(24 * time.Hour)
	whole, err := s.client.Queue(s.ctx)
	if err != nil || len(whole) != 3 {
		t.Fatalf("%v: %+v", err, whole)
	}
	part := regexp.MustCompile(`"estimated_start":("[^"]*"|null)`)
	for i, q := range whole {
		want := "null"
		if q.EstimatedStart != nil {
			want = `"` + q.EstimatedStart.Format(time.RFC3339Nano) + `"`
		}
		_, body := s.get(fmt.Sprintf("/api/v1/queue?after=%d&limit=1", i))
		if got := part.FindStringSubmatch(body); got == nil || got[1] != want {
			t.Errorf("place %d begins at %v, and in the whole queue at %s", q.Position, got, want)
		}
	}
	if whole[1].EstimatedStart == nil || whole[1].EstimatedStart.Before(s.clock.read()) {
		t.Errorf("%+v begins in the past", whole[1])
	}
	status, err := s.client.Status(s.ctx)
	if err != nil || status.QueueTotal != 3 || len(status.Queue) != 3 {
		t.Fatalf("%v: %d places, %d shown", err, status.QueueTotal, len(status.Queue))
	}
	for i, q := range status.Queue {
		if diff := cmp.Diff(whole[i], client.PlaceOf(q)); diff != "" {
			t.Errorf("place %d of the status (-queue +status):\n%s", i+1, diff)
		}
	}
}
