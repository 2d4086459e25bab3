package githubapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/tachobench/tacho/events"
)

// Delivery is one attempt of GitHub to deliver an event to a webhook of a repository.
type Delivery struct {
	// ID is GitHub's number of the attempt. All attempts for one event share the GUID.
	ID   int64
	GUID string
	At   time.Time
	// Code is the status that we answered; 0 when GitHub got no answer.
	Code int
}

// Delivered reports whether the webhook accepted it.
func (d Delivery) Delivered() bool { return d.Code >= 200 && d.Code < 300 }

// Deliveries returns the attempts since a time, newest first.
func (c *Client) Deliveries(ctx context.Context, repo events.RepoName, hook int64, since time.Time) ([]Delivery, error) {
	owner, name := repo.Split()
	var out []Delivery
	o := &github.ListCursorOptions{PerPage: perPage}
	for {
		bounded, cancel := c.within(ctx)
		page, answer, err := c.api.Repositories.ListHookDeliveries(bounded, owner, name, hook, o)
		cancel()
		if err != nil {
			return nil, explain(fmt.Sprintf("list the deliveries of webhook %d of %s", hook, repo), err)
		}
		for _, d := range page {
			if d.GetDeliveredAt().Before(since) {
				return out, nil
			}
			out = append(out, Delivery{ID: d.GetID(), GUID: d.GetGUID(), At: d.GetDeliveredAt().Time, Code: d.GetStatusCode()})
		}
		if answer.Cursor == "" {
			return out, nil
		}
		o.Cursor = answer.Cursor
	}
}

// Redeliver asks GitHub to repeat the delivery of an attempt.
func (c *Client) Redeliver(ctx context.Context, repo events.RepoName, hook, id int64) error {
	ctx, cancel := c.within(ctx)
	defer cancel()
	owner, name := repo.Split()
	_, _, err := c.api.Repositories.RedeliverHookDelivery(ctx, owner, name, hook, id)
	// GitHub answers 202, which go-github reports as an error.
	var accepted *github.AcceptedError
	if errors.As(err, &accepted) {
		return nil
	}
	return explain(fmt.Sprintf("ask for delivery %d of webhook %d of %s again", id, hook, repo), err)
}
