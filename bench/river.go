package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// River is River on a Postgres of its own.
type River struct {
	database *Database
	config   *river.Config
	client   *river.Client[pgx.Tx]
	worker   *riverWorker
	// completed counts the jobs whose end is stored.
	completed counter
}

// RiverArgs are the arguments of a job, about as large as those of one of Tacho's jobs.
type RiverArgs struct {
	Tag     string `json:"tag"`
	Profile string `json:"profile"`
	Set     int    `json:"set"`
}

// Kind implements river.JobArgs.
func (RiverArgs) Kind() string { return "noop" }

func riverArgs(i int) RiverArgs {
	return RiverArgs{Tag: "0123456789012345678901234567890123456789", Profile: "opt", Set: i}
}

type riverWorker struct {
	river.WorkerDefaults[RiverArgs]
	mu    sync.Mutex
	begun []time.Time
}

// Work implements river.Worker.
func (w *riverWorker) Work(context.Context, *river.Job[RiverArgs]) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun = append(w.begun, time.Now())
	return nil
}

// river prepares River. Without workers it only inserts. Tuned, it looks for jobs as often as it can, as its own benchmark nearly does;
// else it has its defaults.
func (b *Bed) river(workers int, unsynced, tuned bool) (*River, error) {
	database, err := b.postgres(unsynced, max(workers, 4)+4)
	if err != nil {
		return nil, err
	}
	driver := riverpgxv5.New(database.Pool)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: silent()})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(b.ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	r := &River{database: database, worker: &riverWorker{}}
	all := river.NewWorkers()
	river.AddWorker(all, r.worker)
	config := &river.Config{Workers: all, Logger: silent(), Queues: map[string]river.QueueConfig{}}
	if workers > 0 {
		config.Queues[river.QueueDefault] = river.QueueConfig{MaxWorkers: workers}
	} else {
		config.Queues, config.Workers = nil, nil
	}
	if tuned {
		config.FetchCooldown, config.FetchPollInterval = river.FetchCooldownMin, 20*time.Millisecond
	}
	r.config = config
	r.client, err = river.NewClient(driver, config)
	return r, err
}

// awake does something while River works. Before and after that it rests: it would look for jobs all the time, and take the
// processors from those whose turn it is.
func (r *River) awake(ctx context.Context, do func() ([]float64, error)) (found []float64, err error) {
	client, err := river.NewClient(riverpgxv5.New(r.database.Pool), r.config)
	if err != nil {
		return nil, err
	}
	r.client = client
	ended, cancel := client.SubscribeConfig(&river.SubscribeConfig{Kinds: []river.EventKind{river.EventKindJobCompleted}, ChanSize: 1 << 16})
	counted := make(chan struct{})
	go func() {
		defer close(counted)
		for range ended {
			r.completed.add(1)
		}
	}()
	defer func() {
		cancel()
		<-counted
	}()
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	defer func() {
		leaving, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer done()
		err = errors.Join(err, client.StopAndCancel(leaving))
	}()
	// It is awake when it has done a job.
	if _, err := r.trips(ctx, 1); err != nil {
		return nil, err
	}
	return do()
}

// insert inserts jobs in batches, as a program with many of them does.
func (r *River) insert(ctx context.Context, n int) error {
	const batch = 1000
	for done := 0; done < n; done += batch {
		var many []river.InsertManyParams
		for i := done; i < min(n, done+batch); i++ {
			many = append(many, river.InsertManyParams{Args: riverArgs(i)})
		}
		if _, err := r.client.InsertManyFast(ctx, many); err != nil {
			return err
		}
	}
	return nil
}

// work inserts jobs and waits until all have ended. It returns jobs a second, and CPU time per job with that of Postgres.
func (r *River) work(ctx context.Context, n int) ([]float64, error) {
	return costs(n, func() (time.Duration, error) {
		began, want := time.Now(), r.completed.now()+n
		if err := r.insert(ctx, n); err != nil {
			return 0, err
		}
		err := r.completed.await(ctx, want)
		return time.Since(began), err
	}, r.database)
}

// trips inserts jobs one after another, and returns how long each took from the insert until a worker has it.
func (r *River) trips(ctx context.Context, n int) (trips []time.Duration, err error) {
	for range n {
		want := r.completed.now() + 1
		began := time.Now()
		if _, err := r.client.Insert(ctx, riverArgs(0), nil); err != nil {
			return nil, err
		}
		if err := r.completed.await(ctx, want); err != nil {
			return nil, err
		}
		r.worker.mu.Lock()
		trips = append(trips, r.worker.begun[len(r.worker.begun)-1].Sub(began))
		r.worker.mu.Unlock()
	}
	return trips, nil
}
