package main

import (
	"context"
	"time"
)

// rowsOfJobs are about the way of a job from its request to its end.
func rowsOfJobs() []Row {
	return []Row{
		{
			Name: "jobs", Work: "no-op jobs end to end, 32 collectors through the door, synced",
			Figures: []Figure{
				{Name: "jobs", Unit: "/s", Better: higher, Goals: []Goal{{rawFour, 0.6}, {rawSame, 0.5}}},
				{Name: "CPU per job", Unit: "µs", Better: lower, Goals: []Goal{{rawSame, 4}}},
			},
			Run: func(_ context.Context, b *Bed) ([]Side, error) {
				tacho, err := b.wholeRequests(manyCollectors(b, false))
				if err != nil {
					return nil, err
				}
				raw, err := b.rawAppends(rawFour, false, 32, 8000, 4)
				if err != nil {
					return nil, err
				}
				same, err := b.least(32, 20*b.Scale, false)
				return []Side{tacho, raw, {rawSame, same.whole}}, err
			},
		},
		{
			Name: "jobs-unsynced", Work: "the same, unsynced",
			Figures: []Figure{
				{Name: "jobs", Unit: "/s", Better: higher, Goals: []Goal{{riverTuned, 0.15}, {rawSame, 0.25}}},
				{Name: "CPU per job", Unit: "µs", Better: lower, Goals: []Goal{{riverTuned, 4}, {rawSame, 4.5}}},
			},
			Run: func(_ context.Context, b *Bed) ([]Side, error) {
				tacho, err := b.wholeRequests(manyCollectors(b, true))
				if err != nil {
					return nil, err
				}
				river, err := b.river(32, true, true)
				if err != nil {
					return nil, err
				}
				asynq, err := b.asynq(32)
				if err != nil {
					return nil, err
				}
				same, err := b.least(32, 20*b.Scale, true)
				return []Side{
					tacho,
					{rawSame, same.whole},
					{riverTuned, func(ctx context.Context) ([]float64, error) {
						return river.awake(ctx, func() ([]float64, error) { return river.work(ctx, 10_000*b.Scale) })
					}},
					{"asynq in memory", func(ctx context.Context) ([]float64, error) {
						return asynq.awake(func() ([]float64, error) { return asynq.work(ctx, min(5_000*b.Scale, asynqsMost)) })
					}},
				}, err
			},
		},
		{
			Name: "deep", Work: "no-op jobs with 100,000 pending, 8 collectors, synced", Rounds: 6,
			Figures: []Figure{{Name: "jobs", Unit: "/s", Better: higher, Goals: []Goal{{referenceSQL, 5}, {shallow, 0.95}, {rawSame, 0.5}}}},
			Run:     deep,
		},
		{
			Name: "latency", Work: "created → received by an idle collector, synced", Rounds: 4,
			Figures: []Figure{
				{Name: "received p50", Unit: "ms", Better: lower, Goals: []Goal{{riverTuned, 1}, {rawSame, 1.5}}},
				{Name: "received p99", Unit: "ms", Better: lower, Goals: []Goal{{riverTuned, 1}, {rawSame, 2}}},
				{Name: "begun p50", Unit: "ms", Better: lower},
			},
			Run: latency,
		},
		{
			Name: "handover", Work: "a job ends → the next one begins on the same collector, synced",
			Figures: []Figure{
				{Name: "p50", Unit: "ms", Better: lower, Goals: []Goal{{rawTrip, 4}, {rawSame, 3}}},
				{Name: "p99", Unit: "ms", Better: lower},
			},
			Run: handover,
		},
	}
}

// The peers, as the table names them.
const (
	rawFour      = "raw appends ÷ 4"
	rawTrip      = "raw publish → received"
	riverTuned   = "River, tuned"
	riverDefault = "River, its defaults"
	referenceSQL = "the reference's SQL"
	shallow      = "Tacho with 1,000 pending"
)

// asynqsMost is how many tasks asynq gets at most: its server in memory copies the whole queue with each new one, and half a million
// took it more than twenty minutes.
const asynqsMost = 50_000

// manyCollectors is a farm whose requests have 640 jobs.
func manyCollectors(b *Bed, unsynced bool) FarmConfig {
	return FarmConfig{Collectors: 32, Profiles: 20 * b.Scale, InProgress: 1, Unsynced: unsynced}
}

// wholeRequests measures from the submit of a request to its end.
func (b *Bed) wholeRequests(c FarmConfig) (Side, error) {
	f, err := b.farm(c)
	return Side{"tacho", func(ctx context.Context) ([]float64, error) {
		return costs(f.Collectors*f.Profiles, func() (time.Duration, error) { return f.finish(ctx) })
	}}, err
}

// window is how many jobs a turn of deep takes from the front of the queue.
const window = 400

func deep(ctx context.Context, b *Bed) ([]Side, error) {
	const collectors, many, few = 8, 100_000, 1000
	var sides []Side
	var farms []*Farm
	for _, s := range []struct {
		name    string
		pending int
	}{{"tacho", many * b.Scale}, {shallow, few}} {
		// Requests have a thousand jobs, and all of them are in progress: each job can be dispatched.
		f, err := b.farm(FarmConfig{Collectors: collectors, Profiles: 125, InProgress: s.pending, Gated: true})
		if err != nil {
			return nil, err
		}
		began := time.Now()
		for range s.pending / few {
			if err := f.ask(ctx); err != nil {
				return nil, err
			}
		}
		if err := f.made.await(ctx, s.pending); err != nil {
			return nil, err
		}
		b.say("deep: %d jobs were created in %s", s.pending, time.Since(began).Round(time.Millisecond))
		sides, farms = append(sides, Side{s.name, f.window}), append(farms, f)
	}
	for _, s := range []struct {
		name    string
		pending int
	}{{referenceSQL, many * b.Scale}, {referenceSQL + ", 1,000 pending", few}} {
		r, err := b.reference(false, collectors)
		if err == nil {
			err = r.enqueue(ctx, s.pending, collectors, "queued")
		}
		if err == nil {
			err = r.settle(ctx)
		}
		if err != nil {
			return nil, err
		}
		sides = append(sides, Side{s.name, func(ctx context.Context) ([]float64, error) {
			found, err := r.work(ctx, collectors, window)
			if err != nil {
				return nil, err
			}
			return found, r.enqueue(ctx, window, collectors, "queued")
		}})
	}
	// The first jobs are slower: caches are cold, and the consumer of a lane passes what the log got in the last minute.
	for i, f := range farms {
		first, err := f.window(ctx)
		if err != nil {
			return nil, err
		}
		b.say("deep: %s: the first jobs after that, of no turn: %.0f /s", sides[i].Name, first[0])
	}
	same, err := b.least(collectors, window/collectors, false)
	if err != nil {
		return nil, err
	}
	return append(sides, Side{rawSame, func(ctx context.Context) ([]float64, error) {
		took, err := same.finish(ctx)
		return []float64{perSecond(window, took)}, err
	}}), nil
}

// window opens the gate until some jobs have ended, and fills the queue up again with the gate shut.
func (f *Farm) window(ctx context.Context) ([]float64, error) {
	began, want := time.Now(), f.done.now()+window
	f.Open()
	if err := f.done.await(ctx, want); err != nil {
		return nil, err
	}
	took := time.Since(began)
	f.Shut()
	if left := f.made.now() - f.done.now(); left < 1000 {
		made := f.made.now() + f.Collectors*f.Profiles
		if err := f.ask(ctx); err != nil {
			return nil, err
		}
		if err := f.made.await(ctx, made); err != nil {
			return nil, err
		}
	}
	return []float64{perSecond(window, took)}, nil
}

func latency(_ context.Context, b *Bed) ([]Side, error) {
	n := 50 * b.Scale
	f, err := b.farm(FarmConfig{Collectors: 1, Profiles: 1, InProgress: 1})
	if err != nil {
		return nil, err
	}
	tuned, err := b.river(1, false, true)
	if err != nil {
		return nil, err
	}
	usual, err := b.river(1, false, false)
	if err != nil {
		return nil, err
	}
	raw, err := b.rawTrips(n, nil)
	if err != nil {
		return nil, err
	}
	same, err := b.least(1, 1, false)
	if err != nil {
		return nil, err
	}
	// What River and the raw engine deliver has begun.
	both := func(trips []time.Duration, err error) ([]float64, error) {
		if err != nil {
			return nil, err
		}
		return []float64{quantile(trips, 0.5), quantile(trips, 0.99), quantile(trips, 0.5)}, nil
	}
	return []Side{
		{"tacho", func(ctx context.Context) ([]float64, error) { return f.trips(ctx, n, f.finish) }},
		{rawSame, func(ctx context.Context) ([]float64, error) { return same.trips(ctx, n, same.finish) }},
		{riverTuned, func(ctx context.Context) ([]float64, error) {
			return tuned.awake(ctx, func() ([]float64, error) { return both(tuned.trips(ctx, n)) })
		}},
		{riverDefault, func(ctx context.Context) ([]float64, error) {
			return usual.awake(ctx, func() ([]float64, error) { return both(usual.trips(ctx, max(n/10, 5))) })
		}},
		{rawTrip, func(ctx context.Context) ([]float64, error) { return both(raw(ctx)) }},
	}, nil
}

func handover(_ context.Context, b *Bed) ([]Side, error) {
	n := 200 * b.Scale
	f, err := b.farm(FarmConfig{Collectors: 1, Profiles: n, InProgress: 1})
	if err != nil {
		return nil, err
	}
	raw, err := b.rawTrips(n, nil)
	if err != nil {
		return nil, err
	}
	same, err := b.least(1, n, false)
	if err != nil {
		return nil, err
	}
	return []Side{
		{"tacho", func(ctx context.Context) ([]float64, error) { return f.gaps(ctx, f.finish) }},
		{rawSame, func(ctx context.Context) ([]float64, error) { return same.gaps(ctx, same.finish) }},
		{rawTrip, func(ctx context.Context) ([]float64, error) {
			trips, err := raw(ctx)
			if err != nil {
				return nil, err
			}
			return []float64{quantile(trips, 0.5), quantile(trips, 0.99)}, nil
		}},
	}, nil
}
