package client

import (
	"context"
	"net/url"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
)

func machinePath(name events.MachineName) string { return "machines/" + url.PathEscape(string(name)) }

// AddMachine registers a machine of a pool, with the collectors of its slots.
func (c *Client) AddMachine(ctx context.Context, n control.NewMachine) (control.MachineAnswer, error) {
	return post[control.MachineAnswer](ctx, c, "machines", n)
}

// SetMachine changes what a machine offers.
func (c *Client) SetMachine(ctx context.Context, name events.MachineName, change control.MachineChange) (control.Answer, error) {
	return put(ctx, c, machinePath(name), change)
}

// RemoveMachine removes a machine that has no active collectors, for good.
func (c *Client) RemoveMachine(ctx context.Context, name events.MachineName, reason string) (control.Answer, error) {
	return remove(ctx, c, machinePath(name), reason)
}
