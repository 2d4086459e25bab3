package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
)

func put(ctx context.Context, c *Client, path string, body any) (control.Answer, error) {
	return ask[control.Answer](ctx, c, http.MethodPut, path, nil, body)
}

// remove sends the command that ends something. reason may be empty.
func remove(ctx context.Context, c *Client, path, reason string) (control.Answer, error) {
	query := url.Values{}
	set(query, "reason", reason)
	return ask[control.Answer](ctx, c, http.MethodDelete, path, query, nil)
}

func accountPath(name events.AccountName) string { return "accounts/" + url.PathEscape(string(name)) }

func queuePath(name events.QueueName) string { return "queues/" + url.PathEscape(string(name)) }

// ConfigureAccount makes an account, or changes its settings.
func (c *Client) ConfigureAccount(ctx context.Context, name events.AccountName, change control.AccountChange) (control.Answer, error) {
	return put(ctx, c, accountPath(name), change)
}

// CloseAccount closes an account. Its requests go on.
func (c *Client) CloseAccount(ctx context.Context, name events.AccountName, reason string) (control.Answer, error) {
	return remove(ctx, c, accountPath(name), reason)
}

// IssueToken gives an account a new token. The token before ends.
func (c *Client) IssueToken(ctx context.Context, name events.AccountName) (TokenAnswer, error) {
	return post[TokenAnswer](ctx, c, accountPath(name)+"/token", nil)
}

// RevokeToken ends the token of an account.
func (c *Client) RevokeToken(ctx context.Context, name events.AccountName) (control.Answer, error) {
	return remove(ctx, c, accountPath(name)+"/token", "")
}

// ConfigureQueue makes a queue, or changes its settings.
func (c *Client) ConfigureQueue(ctx context.Context, name events.QueueName, change control.QueueChange) (control.Answer, error) {
	return put(ctx, c, queuePath(name), change)
}

// CloseQueue closes a queue that has no requests and no parts.
func (c *Client) CloseQueue(ctx context.Context, name events.QueueName, reason string) (control.Answer, error) {
	return remove(ctx, c, queuePath(name), reason)
}

// PauseQueue lets no job of a queue start.
func (c *Client) PauseQueue(ctx context.Context, name events.QueueName) (control.Answer, error) {
	return post[control.Answer](ctx, c, queuePath(name)+"/pause", nil)
}

// ResumeQueue lets the jobs of a queue start again.
func (c *Client) ResumeQueue(ctx context.Context, name events.QueueName) (control.Answer, error) {
	return post[control.Answer](ctx, c, queuePath(name)+"/resume", nil)
}

// SetSharePolicy changes the rules by which the farm is shared.
func (c *Client) SetSharePolicy(ctx context.Context, change control.PolicyChange) (control.Answer, error) {
	return put(ctx, c, "shares/policy", change)
}
