package jetstream_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/internal/natsserver"
	"github.com/tachobench/tacho/internal/tinydisk"
)

// A disk has room for what is left to store of a batch, beside the stream, and not for all of the batch in the stream. The append is
// not called stored. When there is room and the log was opened again, it is stored as a whole, and the same process goes on.
func TestADiskThatTearsABatch(t *testing.T) {
	tinydisk.Run(t, 24, func(t *testing.T, dir string) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		server := start(t, natsserver.Config{Dir: dir + "/log"})
		nc := connect(t, server)
		looks := true
		l := open(t, nc, jetstream.Config{MaxBytes: 1 << 30, Stopped: func() *eventlog.FullError {
			if looks {
				return server.Stopped()
			}
			return nil
		}})
		if _, err := l.Append(ctx, appendOf("a", 0, 3)); err != nil {
			t.Fatal(err)
		}
		parts := []eventlog.Append{appendOf("b", 0, 1000)}
		free := tinydisk.Fill(t, dir)
		ballast := filepath.Join(dir, "ballast")
		full, err := os.Stat(ballast)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(ballast, full.Size()-600<<10); err != nil {
			t.Fatal(err)
		}
		looks = false // else it leaves the reserve
		_, err = l.Append(ctx, parts...)
		torn := wantTorn(t, err, 4, 1000)
		if !strings.Contains(torn.Error(), "by itself") {
			t.Errorf("%q does not say that nothing must be started", torn)
		}
		t.Logf("%d of 1000 events are stored: %v", torn.Last-torn.First+1, torn)
		if _, err := l.Append(ctx, appendOf("c", 0, 1)); err == nil {
			t.Error("an event is stored behind it")
		}
		looks = true
		free()
		if mended, err := server.Mend(); !mended || err != nil {
			t.Fatalf("mended: %t %v", mended, err)
		}
		if room, err := l.Room(ctx); err != nil || room.Full != nil {
			t.Errorf("with room: %+v, %v", room.Full, err)
		}
		wantStored(t, l, torn.End, parts)
		if last, err := l.Append(ctx, appendOf("c", 0, 3)); err != nil || last != torn.End+3 {
			t.Errorf("the next append: %d, %v", last, err)
		}
	})
}
