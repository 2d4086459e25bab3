package readmodel

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/internal/pgtest"
)

// While an answer is on its way the Line asks for signs of life, and no longer. A query, a batch, a COPY, an error and what is heard
// all end with the same message.
func TestALineKnowsWhoWaits(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	config, err := pgx.ParseConfig(pgtest.New(t, "empty", func(context.Context, string) error { return nil }))
	if err != nil {
		t.Fatal(err)
	}
	config.TLSConfig = nil
	line := NewLine(config, 10*time.Minute)
	defer line.Close()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	exec := func(sql string) func() error {
		return func() error { _, err := conn.Exec(ctx, sql); return err }
	}
	for _, tc := range []struct {
		name string
		ask  func() error
	}{
		{"connect", func() error { return nil }},
		{"statement", exec("CREATE TABLE t (n int)")},
		{"begin", exec("BEGIN")},
		{"copy", func() error {
			_, err := conn.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"n"}, pgx.CopyFromSlice(10_000, func(i int) ([]any, error) { return []any{i}, nil }))
			return err
		}},
		{"rows", func() error {
			rows, _ := conn.Query(ctx, "SELECT n, repeat('Z', 100) FROM t")
			_, err := pgx.CollectRows(rows, pgx.RowToMap)
			return err
		}},
		{"batch", func() error {
			b := &pgx.Batch{}
			for range 3 {
				b.Queue("SELECT $1::int", 1)
			}
			return conn.SendBatch(ctx, b).Close()
		}},
		{"commit", exec("COMMIT")},
		{"listen", exec("LISTEN c")},
	} {
		if err := tc.ask(); err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if line.waits() {
			t.Errorf("after %s somebody waits", tc.name)
		}
	}
	if err := exec("SELECT 1/0")(); err == nil || line.waits() {
		t.Errorf("after an error somebody waits: %v", err)
	}
	long, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { _, err := conn.Exec(long, "SELECT pg_sleep(600)"); ended <- err }()
	for !line.waits() {
		select {
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	end()
	<-ended
	for line.waits() { // until it is closed
		<-time.After(time.Millisecond)
	}
}

func TestTheEndOfAnAnswer(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "Z": false, "Z\x00\x00\x00\x05": false, "Z\x00\x00\x00\x05I": true, "C\x00\x00\x00\x0dSELECT 1\x00Z\x00\x00\x00\x05T": true,
		"Z\x00\x00\x00\x05IA\x00": false,
	} {
		if ready([]byte(text)) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// A Line that rests hears of a question that has no answer.
func TestALineThatRestsIsWoken(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer far.Close()
	line := &Line{open: map[*lineConn]struct{}{}, woken: make(chan struct{}, 1)}
	c := &lineConn{Conn: near, line: line}
	line.open[c] = struct{}{}
	say := func(text string) {
		t.Helper()
		went := make(chan error, 1)
		go func() { _, err := far.Write([]byte(text)); went <- err }()
		if _, err := c.Read(make([]byte, 100)); err != nil || <-went != nil {
			t.Fatal(err)
		}
	}
	hear := func() {
		t.Helper()
		heard := make(chan error, 1)
		go func() { _, err := far.Read(make([]byte, 100)); heard <- err }()
		if _, err := c.Write([]byte("Q")); err != nil || <-heard != nil {
			t.Fatal(err)
		}
	}
	hear()
	if !line.rest(t.Context()) || !line.asked.Load() {
		t.Error("a question without an answer did not end the rest")
	}
	line.asked.Store(false)
	hear()
	say("Z\x00\x00\x00\x05I")
	ctx, end := context.WithCancel(t.Context())
	rests := make(chan struct{})
	go func() {
		defer close(rests)
		for line.rest(ctx) && line.asked.Load() { // it may end for a sign of life that is due
		}
	}()
	for line.asked.Load() {
		select {
		case <-rests:
			t.Fatal("an answered question ended the rest")
		case <-time.After(time.Millisecond):
		}
	}
	end()
	<-rests
}
