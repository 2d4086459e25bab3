package main

import (
	"context"
	"io"
	"log"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/hibiken/asynq"
)

// Asynq is asynq with a server in this process that speaks Redis and keeps all in memory.
type Asynq struct {
	at      asynq.RedisClientOpt
	workers int
	client  *asynq.Client
	done    counter
}

func (b *Bed) asynq(workers int) (*Asynq, error) {
	redis := miniredis.NewMiniRedis()
	if err := redis.Start(); err != nil {
		return nil, err
	}
	b.onEnd(func() error { redis.Close(); return nil })
	// The client asks again after a timeout, and a task that it has stored before would then be a conflict.
	at := asynq.RedisClientOpt{Addr: redis.Addr(), ReadTimeout: patience, WriteTimeout: patience}
	a := &Asynq{at: at, workers: workers, client: asynq.NewClient(at)}
	b.onEnd(a.client.Close)
	return a, nil
}

// awake does something while asynq's workers look for tasks. Before and after that they rest, as River does.
func (a *Asynq) awake(do func() ([]float64, error)) ([]float64, error) {
	server := asynq.NewServer(a.at, asynq.Config{
		Concurrency: a.workers, TaskCheckInterval: time.Millisecond, LogLevel: asynq.FatalLevel, ShutdownTimeout: 5 * time.Second, Logger: quiet{log.New(io.Discard, "", 0)},
	})
	if err := server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		a.done.add(1)
		return nil
	})); err != nil {
		return nil, err
	}
	defer server.Shutdown()
	return do()
}

// work enqueues tasks and waits until all were handled. It returns tasks a second and CPU time per task, with that of the server.
func (a *Asynq) work(ctx context.Context, n int) ([]float64, error) {
	payload := []byte(`{"tag":"0123456789012345678901234567890123456789","profile":"opt","set":1}`)
	return costs(n, func() (time.Duration, error) {
		began, want := time.Now(), a.done.now()+n
		_, err := together(ctx, 8, n, func(ctx context.Context, _, _ int) error {
			_, err := a.client.EnqueueContext(ctx, asynq.NewTask("noop", payload))
			return err
		})
		if err != nil {
			return 0, err
		}
		err = a.done.await(ctx, want)
		return time.Since(began), err
	})
}

// quiet is a logger for asynq that says nothing.
type quiet struct{ *log.Logger }

func (quiet) Debug(...any) {}
func (quiet) Info(...any)  {}
func (quiet) Warn(...any)  {}
func (quiet) Error(...any) {}
func (quiet) Fatal(...any) {}
