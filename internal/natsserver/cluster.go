package natsserver

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/internal/freeport"
)

// Cluster is three servers in this process that replicate to each other over loopback. It is for
// tests: a cluster that ends with one process protects nothing.
type Cluster struct {
	Servers [3]*Server
	configs [3]Config
}

// StartCluster starts three members without authentication, one in each directory, and waits until they have
// elected a leader. With unsynced they leave syncing to the operating system.
func StartCluster(ctx context.Context, dirs [3]string, unsynced bool) (*Cluster, error) {
	addrs, err := freeport.Addresses(2 * len(dirs))
	if err != nil {
		return nil, err
	}
	c, addrs, clients := &Cluster{}, addrs[:len(dirs)], addrs[len(dirs):]
	for i, dir := range dirs {
		cfg := Config{Dir: dir, Listen: clients[i], Unsynced: unsynced, Cluster: &Membership{
			Cluster: "tacho", Server: fmt.Sprintf("n%d", i+1), Listen: addrs[i],
		}}
		for _, a := range addrs {
			cfg.Cluster.Routes = append(cfg.Cluster.Routes, "nats://"+a)
		}
		if c.Servers[i], err = Start(cfg); err != nil {
			c.Shutdown()
			return nil, err
		}
		c.configs[i] = cfg
	}
	if err := c.waitReady(ctx); err != nil {
		c.Shutdown()
		return nil, err
	}
	return c, nil
}

// Restart stops all members, starts them again at their addresses, and waits until they have elected a leader.
func (c *Cluster) Restart(ctx context.Context) (err error) {
	c.Shutdown()
	for i, cfg := range c.configs {
		if c.Servers[i], err = Start(cfg); err != nil {
			return err
		}
	}
	return c.waitReady(ctx)
}

// Connect returns a connection that moves to another member when its own is gone.
func (c *Cluster) Connect(opts ...nats.Option) (*nats.Conn, error) {
	urls := ""
	for _, s := range c.Servers {
		urls += "," + s.URL()
	}
	all := append(c.Servers[0].Options(), opts...)
	nc, err := nats.Connect(urls[1:], all...)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return nc, nil
}

// Shutdown stops all members.
func (c *Cluster) Shutdown() {
	for _, s := range c.Servers {
		if s != nil {
			s.Shutdown()
		}
	}
}

// waitReady waits until a leader answers for all three members.
func (c *Cluster) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if c.ready() {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the cluster's leader: %w", ctx.Err())
		}
	}
}

func (c *Cluster) ready() bool {
	led, current := false, 0
	for _, s := range c.Servers {
		led = led || s.ns.JetStreamIsLeader() && len(s.ns.JetStreamClusterPeers()) == len(c.Servers)
		if s.ns.JetStreamIsCurrent() {
			current++
		}
	}
	return led && current == len(c.Servers)
}
