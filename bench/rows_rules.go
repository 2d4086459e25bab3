package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog/memory"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/rules/queue"
	"github.com/tachobench/tacho/scheduler"
	"github.com/tachobench/tacho/shell"
)

const (
	referenceOrder = "the reference's order"
	riverRow       = "a row of River"
	eightLanes     = "Tacho with 8 lanes"
)

// rowsOfRules are about what is computed in memory.
func rowsOfRules() []Row {
	return []Row{
		{
			Name: "order", Work: "the order of 50,000 pending requests", Rounds: 5, Run: order,
			Figures: []Figure{
				{Name: "no parents", Unit: "ms", Better: lower, Goals: []Goal{{referenceOrder, 2}}},
				{Name: "one chain", Unit: "ms", Better: lower, Goals: []Goal{{referenceOrder, 2}}},
				{Name: "chains of 100", Unit: "ms", Better: lower, Goals: []Goal{{referenceOrder, 2}}},
			},
		},
		{
			Name: "memory", Work: "heap of the ledger; a pending job has its share of a request of 12", Rounds: 1, Run: heap,
			Figures: []Figure{
				{Name: "pending job", Unit: "B", Better: lower, Goals: []Goal{{"", 390}, {riverRow, 1}}},
				{Name: "ended job", Unit: "B", Better: lower, Goals: []Goal{{"", 40}}},
				{Name: "ended request", Unit: "B", Better: lower},
				{Name: "pending job, in a snapshot", Unit: "B", Better: lower},
				{Name: "ended job, in a snapshot", Unit: "B", Better: lower},
				{Name: "ended request, in a snapshot", Unit: "B", Better: lower},
			},
		},
		{
			Name: "lanes", Work: "CPU of core and log in memory per job, 1,000 lanes", Run: lanes,
			Figures: []Figure{{Name: "CPU per job", Unit: "µs", Better: lower, Goals: []Goal{{eightLanes, 1.5}}}},
		},
	}
}

// crowd returns shuffled pending requests, number i with the given parent.
func crowd(n int, parent func(i int) events.Tag) []queue.Entry {
	random := rand.New(rand.NewPCG(1, 2))
	all := make([]queue.Entry, n)
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range all {
		tag := crowdTag(i)
		all[i] = queue.Entry{
			ID: events.NewRequestID(storySuite, events.Master, string(tag)), Kind: events.Master, State: events.StateArtifactsReady, Suite: storySuite,
			Tag: tag, Parent: parent(i), PR: random.IntN(n), CreatedAt: epoch.Add(time.Duration(random.IntN(n)) * time.Second),
		}
	}
	random.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func crowdTag(i int) events.Tag { return events.Tag(fmt.Sprintf("%040x", i+1)) }

func order(_ context.Context, b *Bed) ([]Side, error) {
	n := 50_000 * b.Scale
	shapes := [][]queue.Entry{
		crowd(n, func(int) events.Tag { return "" }),
		crowd(n, func(i int) events.Tag { return crowdTag(i - 1) }),
		crowd(n, func(i int) events.Tag {
			if i%100 == 0 {
				return ""
			}
			return crowdTag(i - 1)
		}),
	}
	side := func(name string, sort func([]queue.Entry) int) Side {
		return Side{name, func(context.Context) (found []float64, err error) {
			for _, entries := range shapes {
				runtime.GC()
				began := time.Now()
				if got := sort(entries); got != n {
					return nil, fmt.Errorf("%d places for %d requests", got, n)
				}
				found = append(found, milliseconds(time.Since(began)))
			}
			return found, nil
		}}
	}
	return []Side{
		side("tacho", func(all []queue.Entry) int { return len(queue.Order(all, nil)) }),
		side(referenceOrder, func(all []queue.Entry) int { return len(levelled(all)) }),
	}, nil
}

// levelled orders requests as the reference does: those whose parents are done come first, by number and time; then
// those whose parents are among these, and so on.
func levelled(all []queue.Entry) (ordered []*queue.Entry) {
	byTag := make(map[events.Tag]*queue.Entry, len(all))
	for i := range all {
		byTag[all[i].Tag] = &all[i]
	}
	children := make(map[events.Tag][]*queue.Entry)
	var level []*queue.Entry
	for i := range all {
		if e := &all[i]; byTag[e.Parent] == nil {
			level = append(level, e)
		} else {
			children[e.Parent] = append(children[e.Parent], e)
		}
	}
	for len(level) > 0 {
		slices.SortFunc(level, func(a, b *queue.Entry) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.PR, b.PR), a.CreatedAt.Compare(b.CreatedAt))
		})
		ordered = append(ordered, level...)
		var next []*queue.Entry
		for _, e := range level {
			next = append(next, children[e.Tag]...)
		}
		level = next
	}
	return ordered
}

// heap tells the size of a job from that of its request by as many jobs in requests of 12 and of 120.
func heap(_ context.Context, b *Bed) ([]Side, error) {
	const few, many = 12, 120
	jobs := 100_000 * b.Scale
	river, err := b.river(0, true, false)
	if err != nil {
		return nil, err
	}
	ours := func(ctx context.Context) ([]float64, error) {
		perJob := func(tell func(*Story)) (job, request size, err error) {
			small, err := grown(ctx, jobs/few, few, tell)
			if err != nil {
				return job, request, err
			}
			large, err := grown(ctx, jobs/many, many, tell)
			for i := range job {
				request[i] = (small[i] - large[i]) * few * many / (many - few)
				job[i] = large[i] - request[i]/many
			}
			return job, request, err
		}
		pending, waiting, err := perJob(func(s *Story) { s.start() })
		if err != nil {
			return nil, err
		}
		ended, request, err := perJob((*Story).finish)
		var found []float64
		for _, where := range []int{inHeap, inSnapshot} {
			found = append(found, pending[where]+waiting[where]/few, ended[where], request[where])
		}
		return found, err
	}
	theirs := func(ctx context.Context) ([]float64, error) {
		if err := river.insert(ctx, jobs); err != nil {
			return nil, err
		}
		var size int64
		err := river.database.QueryRow(ctx, `SELECT pg_total_relation_size('river_job')`).Scan(&size)
		return []float64{float64(size) / float64(jobs), 0, 0, 0, 0, 0}, err
	}
	return []Side{{"tacho", ours}, {riverRow, theirs}}, nil
}

// size is how many bytes something takes in the heap and in a snapshot.
type size [2]float64

const (
	inHeap = iota
	inSnapshot
)

// grown is the size of each job in a ledger with requests of some jobs, its share of its request included.
func grown(ctx context.Context, requests, jobs int, tell func(*Story)) (found size, err error) {
	before := heapNow()
	l := ledger.New()
	var seq events.Seq
	s := &Story{Jobs: jobs, Tell: func(f events.Fact) (events.Seq, error) {
		seq++
		stored, err := events.Encode(events.Event{
			ID: fmt.Sprintf("e%d", seq), Time: time.Unix(int64(seq), 0).UTC(), Source: "bench", Actor: "bench", Root: "bench", Fact: f,
		})
		if err != nil {
			return 0, err
		}
		// Each fact has its own strings, like a fact read from the log.
		stored.Seq = seq
		e, err := events.Decode(stored)
		if err != nil {
			return 0, err
		}
		l.Fold(e)
		return seq, nil
	}}
	s.begin()
	for i := 0; i < requests && ctx.Err() == nil; i++ {
		tell(s)
	}
	if err := cmp.Or(s.err, ctx.Err()); err != nil {
		return found, err
	}
	found[inHeap] = float64(heapNow()-before) / float64(requests*jobs)
	snapshot, err := l.Snapshot()
	found[inSnapshot] = float64(len(snapshot)) / float64(requests*jobs)
	return found, err
}

func heapNow() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func lanes(ctx context.Context, b *Bed) ([]Side, error) {
	const jobs = 4000
	var sides []Side
	for _, s := range []struct {
		name  string
		lanes int
	}{{"tacho", 1000 * b.Scale}, {eightLanes, 8}} {
		p, err := b.players(ctx, s.lanes, max(jobs/s.lanes, 1))
		if err != nil {
			return nil, err
		}
		sides = append(sides, Side{s.name, p.turn})
	}
	return sides, nil
}

// Players are a scheduler on a log in memory, and somebody who plays all collectors by ending each job at once.
type Players struct {
	log     *memory.Log
	control *control.Control
	lanes   int
	perLane int
	asked   int
	ended   counter
	// names are the collectors of the lanes.
	names map[events.Lane]events.CollectorName
}

func (b *Bed) players(ctx context.Context, lanes, perLane int) (*Players, error) {
	log := memory.New(memory.Config{})
	p := &Players{log: log, lanes: lanes, perLane: perLane, names: map[events.Lane]events.CollectorName{}, control: &control.Control{Log: log, Clock: time.Now}}
	if _, err := p.control.Publish(ctx, by, jobsOf(lanes, perLane)); err != nil {
		return nil, err
	}
	for i := range lanes {
		n := control.NewCollector{Name: events.CollectorName(fmt.Sprintf("c%d", i)), Target: laneOf(i).Target, Set: laneOf(i).Set}
		if _, err := p.control.AddCollector(ctx, by, n); err != nil {
			return nil, err
		}
		p.names[laneOf(i)] = n.Name
	}
	s := shell.New(shell.Config{Log: log, Clock: time.Now, Logger: silent()})
	s.Tell(func(f events.Fact) {
		if _, ok := f.(events.RequestCompleted); ok {
			p.ended.add(1)
		}
	})
	s.Seat(scheduler.New(scheduler.Config{
		Log: log, OfflineAfter: offlineIn, Logger: silent(),
		Policy: scheduler.Policy{MaxInProgress: 1, ArtifactDeadline: 7 * 24 * time.Hour, ExpansionRetry: 30 * time.Second, MaxWaiting: 1 << 30},
	}))
	b.run("shell", s.Run)
	b.run("players", p.play)
	return p, nil
}

func (p *Players) play(ctx context.Context) error {
	tell := onto(ctx, p.log)
	cursor, err := p.log.Follow(ctx, 0)
	if err != nil {
		return err
	}
	defer cursor.Close()
	for {
		batch, err := cursor.Next(ctx, 1000)
		if err != nil {
			return err
		}
		for _, stored := range batch {
			e, err := events.Decode(stored)
			if err != nil {
				return err
			}
			d, ok := e.Fact.(events.JobDispatched)
			if !ok {
				continue
			}
			lane := d.Job.Lane()
			name := p.names[lane]
			attempt, err := tell(events.JobDequeued{Lane: lane, Place: d.Place, Job: d.Job, Collector: name, Instance: "i", Attempt: 1})
			if err != nil {
				return err
			}
			_, err = tell(events.JobFinished{
				Lane: lane, Place: d.Place, JobID: d.Job.ID, RequestID: d.Job.RequestID, Collector: name, Token: attempt, Attempt: 1,
				Outcome: events.Success, Measured: 1, DurationMS: 1,
			})
			if err != nil {
				return err
			}
		}
	}
}

// turn submits a request and waits for its end.
func (p *Players) turn(ctx context.Context) ([]float64, error) {
	found, err := costs(p.lanes*p.perLane, func() (time.Duration, error) {
		began, want := time.Now(), p.ended.now()+1
		p.asked++
		n := control.NewRequest{Suite: noop, Kind: events.Master, Tag: events.Tag(fmt.Sprintf("%040d", p.asked))}
		if _, _, err := p.control.CreateRequest(ctx, by, n); err != nil {
			return 0, err
		}
		err := p.ended.await(ctx, want)
		return time.Since(began), err
	})
	if err != nil {
		return nil, err
	}
	return found[1:], nil
}
