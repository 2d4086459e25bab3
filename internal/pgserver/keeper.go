package pgserver

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/tachobench/tacho/internal/retry"
)

// stopWait bounds the soft end of a kept server.
const stopWait = 20 * time.Second

// Keeper is a server that is started again when it dies.
type Keeper struct {
	config Config

	// mu guards server.
	mu     sync.Mutex
	server *Server
}

// Keep starts a server that Run then keeps alive. Errors are those of Start. Call Stop at the end.
func Keep(ctx context.Context, c Config) (*Keeper, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	k := &Keeper{config: c}
	if err := k.start(ctx); err != nil {
		return nil, err
	}
	return k, nil
}

func (k *Keeper) start(ctx context.Context) error {
	server, err := Start(ctx, k.config)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.server = server
	return nil
}

// current returns the server that was started last.
func (k *Keeper) current() *Server {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.server
}

// URL returns the address of the database. It stays the same, so clients connect again by themselves.
func (k *Keeper) URL() string { return k.current().URL() }

// Run starts the server again whenever it ends, until ctx does.
func (k *Keeper) Run(ctx context.Context) error {
	for {
		server := k.current()
		select {
		case <-ctx.Done():
			return nil
		case <-server.Done():
		}
		if ctx.Err() != nil {
			return nil
		}
		k.config.Log.Error("Postgres ended by itself and is started again", "error", server.Err())
		for err := k.start(ctx); err != nil; err = k.start(ctx) {
			if ctx.Err() != nil {
				return nil
			}
			k.config.Log.Error("Postgres does not start, trying again", "error", err)
			retry.Sleep(ctx, time.Second)
		}
	}
}

// Stop ends the server, softly at first.
func (k *Keeper) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopWait)
	defer cancel()
	if err := k.current().Stop(ctx); err != nil {
		k.config.Log.Warn("Postgres did not stop softly", "error", err)
	}
}
