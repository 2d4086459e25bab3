package website

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tachobench/tacho/readmodel"
)

// While the tables do not answer, a scrape has its other metrics in less than a second. What was read later is in the next one.
func TestAScrapeDoesNotWaitForTheTables(t *testing.T) {
	now, answers := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), make(chan error)
	m := newWaitMetrics(&Server{Config: Config{Clock: func() time.Time { return now }}})
	reads := 0
	m.read = func(context.Context, time.Duration, string) (readmodel.Waits, error) {
		reads++
		err := <-answers
		return readmodel.Waits{Lanes: []readmodel.LaneWaits{{Lane: "here/0"}}}, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m, prometheus.NewGauge(prometheus.GaugeOpts{Name: "other"}))
	scrape := func() (families int) {
		t.Helper()
		began := time.Now()
		found, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took >= time.Second {
			t.Errorf("the scrape took %s", took)
		}
		return len(found)
	}
	for range 2 { // the second one waits for the same read
		if n := scrape(); n != 1 {
			t.Errorf("%d metrics while the tables are away", n)
		}
	}
	answer := func(err error) {
		m.mu.Lock()
		reading := m.reading
		m.mu.Unlock()
		answers <- err
		<-reading
	}
	answer(nil)
	if n := scrape(); n < 2 || reads != 1 {
		t.Errorf("%d metrics after %d reads", n, reads)
	}
	now = now.Add(waitsAge)
	if n := scrape(); n < 2 {
		t.Errorf("%d metrics while newer ones are read", n)
	}
	answer(errors.New("away"))
	go func() { answers <- errors.New("away") }()
	if n := scrape(); n != 1 || reads != 3 {
		t.Errorf("%d metrics after the tables did not answer, with %d reads", n, reads)
	}
}
