package node

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/internal/room"
	"github.com/tachobench/tacho/website"
)

const (
	// roomEvery is how often the log and the disks are looked at, databaseEvery how often the database is measured.
	roomEvery     = time.Second
	databaseEvery = 30 * time.Second
	// roomTimeout bounds each question.
	roomTimeout = 2 * time.Second
)

// roomWatch looks again and again how full the log, the disks of this machine and the database are.
type roomWatch struct {
	*parts
	grows room.Growth

	// mu guards what follows: log and disks, as they were seen last; nil while the log does not answer.
	mu    sync.Mutex
	log   []room.Place
	disks []room.Place
	// database is how large the database was at measured. crowded is what Postgres says while it has no room.
	database int64
	measured time.Time
	crowded  string
}

func newRoomWatch(p *parts) *roomWatch {
	w := &roomWatch{parts: p}
	p.registry.MustRegister(roomMetric{w})
	return w
}

// run looks until everything ends.
func (w *roomWatch) run(ctx context.Context) error {
	told := ""
	for {
		w.look(ctx)
		w.mend(ctx)
		if now := w.full(); now != told && ctx.Err() == nil {
			if told = now; now != "" {
				w.Logger.Error("the log takes no more events until there is room; collectors keep what they have measured", "reason", now)
			} else {
				w.Logger.Warn("the log takes events again")
			}
		}
		if !retry.Together(ctx, roomEvery) {
			return nil
		}
	}
}

// mend opens the log of this process again after its disk had no room.
func (w *roomWatch) mend(ctx context.Context) {
	if w.core.nats == nil {
		return
	}
	mended, err := w.core.nats.Mend()
	if mended {
		w.Logger.WarnContext(ctx, "the log was opened again: its disk had failed a write, and there is room now")
		// Those who follow the log look for it again at a new connection.
		err = w.core.nc.ForceReconnect()
	}
	if err != nil && ctx.Err() == nil {
		w.Logger.ErrorContext(ctx, "the log cannot be opened again yet", "error", err)
	}
}

func (w *roomWatch) look(ctx context.Context) {
	log := w.lookAtLog(ctx)
	disks := w.lookAtDisks()
	w.mu.Lock()
	w.log, w.disks = log, disks
	due := time.Since(w.measured) >= databaseEvery
	w.mu.Unlock()
	if due && w.core.databaseURL != "" {
		w.measureDatabase(ctx)
	}
}

func (w *roomWatch) lookAtLog(ctx context.Context) []room.Place {
	asking, cancel := context.WithTimeout(ctx, roomTimeout)
	defer cancel()
	r, err := w.core.log.Room(asking)
	if err != nil {
		return nil // the log does not answer, which others say
	}
	log := room.Place{About: "log", Bytes: r.Bytes, Limit: r.Limit, Next: "Raise nats.max_bytes and start `tacho up` again, after looking at the room on the disk. docs/room.md says more."}
	if w.core.nats == nil {
		log.Next = "Have the operator of NATS raise the limit of the log with `nats stream edit EVENTS --max-bytes BYTES`, after looking at the room of the disks; nothing must be started again. docs/room.md says more."
	}
	if r.Full != nil {
		log.Full = r.Full.Why
		log.Next = strings.ToUpper(r.Full.Next[:1]) + r.Full.Next[1:] + ". docs/room.md says more."
	}
	places := []room.Place{log}
	if r.AccountLimit > 0 {
		places = append(places, room.Place{
			About: "account", Bytes: r.AccountBytes, Limit: r.AccountLimit, Next: "Have the operator of NATS give the account more storage. docs/room.md says more.",
		})
	}
	return w.growing(places)
}

// lookAtDisks returns the disks of what this process runs itself. Disks of a cluster are elsewhere.
func (w *roomWatch) lookAtDisks() (places []room.Place) {
	var seen []uint64
	for _, of := range []struct {
		what, dir string
		runs      bool
	}{{"log", w.data().Path("log"), w.core.nats != nil}, {"database", w.data().Path("postgres"), w.core.postgres != nil}} {
		if !of.runs {
			continue
		}
		d, err := room.DiskOf(of.dir)
		if err != nil || slices.Contains(seen, d.ID) {
			continue
		}
		seen = append(seen, d.ID)
		places = append(places, room.Place{
			About: "disk of the " + of.what, Bytes: d.Size - d.Free, Limit: d.Size,
			Next: fmt.Sprintf("Free some of the disk that holds %s, or make it larger. docs/room.md says more.", filepath.Dir(of.dir)),
		})
	}
	return w.growing(places)
}

func (w *roomWatch) growing(places []room.Place) []room.Place {
	for i, p := range places {
		places[i].GrowsPerDay = w.grows.Note(p.About, p.Bytes, w.Clock())
	}
	return places
}

func (w *roomWatch) measureDatabase(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, roomTimeout)
	defer cancel()
	size, err := sizeOfDatabase(ctx, w.core.databaseURL)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.measured = time.Now()
	if w.database = size; err != nil {
		w.database = 0
	}
}

func sizeOfDatabase(ctx context.Context, url string) (size int64, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, fmt.Errorf("measure the database: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := conn.QueryRow(ctx, `SELECT pg_database_size(current_database())`).Scan(&size); err != nil {
		return 0, fmt.Errorf("measure the database: %w", err)
	}
	return size, nil
}

// databaseFull takes what the projector hears from Postgres about room.
func (w *roomWatch) databaseFull(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.crowded = why
}

// places returns how full everything is that is known now. It answers at once.
func (w *roomWatch) places() []room.Place {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := slices.Concat(w.log, w.disks)
	if w.database == 0 && w.crowded == "" {
		return out
	}
	database := room.Place{
		About: "database", Bytes: w.database, Limit: w.Config.Room.DatabaseBytes,
		Next: "Give the disk of Postgres more room, or let fewer jobs stay in the tables (scheduler.retention). The tables go on by themselves. docs/room.md says more.",
	}
	database.GrowsPerDay = w.grows.Note(database.About, database.Bytes, w.Clock())
	if w.crowded != "" {
		database.Full = "Postgres has no room, and the tables stand still: " + w.crowded
	}
	return append(out, database)
}

// full returns why the log takes no more events; empty while it does.
func (w *roomWatch) full() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.log {
		if p.About == "log" {
			return p.Full
		}
	}
	return ""
}

// check is the check of /readyz.
func (w *roomWatch) check(context.Context) website.Check {
	if why := w.full(); why != "" {
		return website.Check{Name: "room", Detail: "the log takes no more events: " + why}
	}
	return website.Check{Name: "room", OK: true, Detail: "nothing says that the log is full"}
}

// roomMetric is made of what was seen last.
type roomMetric struct{ w *roomWatch }

var (
	roomBytes = prometheus.NewDesc("tacho_room_bytes", "How much is used of the log, its disk and the database.", []string{"of"}, nil)
	roomLimit = prometheus.NewDesc("tacho_room_limit_bytes", "How much they take; without a known limit there is no series.", []string{"of"}, nil)
	roomFull  = prometheus.NewDesc("tacho_room_full", "1 if it takes nothing more.", []string{"of"}, nil)
)

// Describe implements prometheus.Collector.
func (m roomMetric) Describe(ch chan<- *prometheus.Desc) {
	ch <- roomBytes
	ch <- roomLimit
	ch <- roomFull
}

// Collect implements prometheus.Collector.
func (m roomMetric) Collect(ch chan<- prometheus.Metric) {
	for _, p := range m.w.places() {
		full := 0.0
		if p.Full != "" {
			full = 1
		}
		ch <- prometheus.MustNewConstMetric(roomBytes, prometheus.GaugeValue, float64(p.Bytes), p.About)
		ch <- prometheus.MustNewConstMetric(roomFull, prometheus.GaugeValue, full, p.About)
		if p.Limit > 0 {
			ch <- prometheus.MustNewConstMetric(roomLimit, prometheus.GaugeValue, float64(p.Limit), p.About)
		}
	}
}
