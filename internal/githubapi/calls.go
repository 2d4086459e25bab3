package githubapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/tachobench/tacho/events"
)

// perPage is how many elements GitHub returns at most at once.
const perPage = 100

// Commit is a commit with its parents, the first of which is what it was built on.
type Commit struct {
	SHA     events.Tag
	Parents []events.Tag
	Message string
	Time    time.Time
}

// Commit returns a commit by its SHA, the beginning of one, or the name of a branch.
func (c *Client) Commit(ctx context.Context, repo events.RepoName, ref string) (Commit, error) {
	ctx, cancel := c.within(ctx)
	defer cancel()
	owner, name := repo.Split()
	found, _, err := c.api.Repositories.GetCommit(ctx, owner, name, ref, &github.ListOptions{PerPage: 1})
	if err != nil {
		err = explain(fmt.Sprintf("read commit %s of %s", ref, repo), err)
		var failed *Error
		if errors.As(err, &failed) && failed.Status == http.StatusUnprocessableEntity {
			// GitHub means by this that the commit does not exist.
			failed.Kind = Missing
		}
		return Commit{}, err
	}
	if found.GetSHA() == "" {
		return Commit{}, notTheAnswer(fmt.Sprintf("read commit %s of %s", ref, repo))
	}
	out := Commit{
		SHA: events.Tag(found.GetSHA()), Message: found.GetCommit().GetMessage(), Time: found.GetCommit().GetCommitter().GetDate().Time,
	}
	for _, p := range found.Parents {
		out.Parents = append(out.Parents, events.Tag(p.GetSHA()))
	}
	return out, nil
}

// Pull is a pull request.
type Pull struct {
	Number int
	Title  string
	Body   string
	// Head is the newest commit of its branch.
	Head events.Tag
	// Base is the branch that it is meant for.
	Base string
	// Author is the login of the account that opened it.
	Author string
}

// Pull returns a pull request.
func (c *Client) Pull(ctx context.Context, repo events.RepoName, number int) (Pull, error) {
	ctx, cancel := c.within(ctx)
	defer cancel()
	owner, name := repo.Split()
	p, _, err := c.api.PullRequests.Get(ctx, owner, name, number)
	if err != nil {
		return Pull{}, explain(fmt.Sprintf("read pull request %d of %s", number, repo), err)
	}
	return Pull{
		Number: p.GetNumber(), Title: p.GetTitle(), Body: p.GetBody(), Head: events.Tag(p.GetHead().GetSHA()), Base: p.GetBase().GetRef(), Author: p.GetUser().GetLogin(),
	}, nil
}

// Comment is a comment on a pull request.
type Comment struct {
	ID     int64
	NodeID string
	URL    string
	Body   string
	// Author is the login of the account that wrote it, AuthorID GitHub's number of it.
	Author   string
	AuthorID int64
	Created  time.Time
}

func comment(c *github.IssueComment) Comment {
	return Comment{
		ID: c.GetID(), NodeID: c.GetNodeID(), URL: c.GetHTMLURL(), Body: c.GetBody(), Author: c.GetUser().GetLogin(), AuthorID: c.GetUser().GetID(),
		Created: c.GetCreatedAt().Time,
	}
}

// Comments yields the comments of a pull request that were written or changed since a time, oldest first. It ends
// after the first error.
func (c *Client) Comments(ctx context.Context, repo events.RepoName, pr int, since time.Time) iter.Seq2[Comment, error] {
	owner, name := repo.Split()
	return func(yield func(Comment, error) bool) {
		o := &github.IssueListCommentsOptions{ListOptions: github.ListOptions{PerPage: perPage}}
		if !since.IsZero() {
			o.Since = &since
		}
		for {
			bounded, cancel := c.within(ctx)
			page, answer, err := c.api.Issues.ListComments(bounded, owner, name, pr, o)
			cancel()
			call := fmt.Sprintf("list the comments of pull request %d of %s", pr, repo)
			if err == nil && page == nil {
				// A missing list is not an empty one: a caller that looks for its comment would write it a second
				// time.
				err = notTheAnswer(call)
			} else {
				err = explain(call, err)
			}
			if err != nil {
				yield(Comment{}, err)
				return
			}
			for _, found := range page {
				if !yield(comment(found), nil) {
					return
				}
			}
			if answer.NextPage == 0 {
				return
			}
			o.Page = answer.NextPage
		}
	}
}

// Comment returns a comment on a pull request.
func (c *Client) Comment(ctx context.Context, repo events.RepoName, id int64) (Comment, error) {
	ctx, cancel := c.within(ctx)
	defer cancel()
	owner, name := repo.Split()
	call := fmt.Sprintf("read comment %d of %s", id, repo)
	found, _, err := c.api.Issues.GetComment(ctx, owner, name, id)
	if err != nil {
		return Comment{}, explain(call, err)
	}
	if found.GetID() != id {
		return Comment{}, notTheAnswer(call)
	}
	return comment(found), nil
}

// CreateComment writes a comment. After a Fault the comment may exist: look for it before you try again.
func (c *Client) CreateComment(ctx context.Context, repo events.RepoName, pr int, body string) (Comment, error) {
	ctx, cancel := c.within(ctx)
	defer cancel()
	owner, name := repo.Split()
	made, _, err := c.api.Issues.CreateComment(ctx, owner, name, pr, &github.IssueComment{Body: &body})
	if err != nil {
		return Comment{}, explain(fmt.Sprintf("comment on pull request %d of %s", pr, repo), err)
	}
	if made.GetID() == 0 {
		return Comment{}, notTheAnswer(fmt.Sprintf("comment on pull request %d of %s", pr, repo))
	}
	return comment(made), nil
}

// EditComment replaces the text of a comment.
func (c *Client) EditComment(ctx context.Context, repo events.RepoName, id int64, body string) (Comment, error) {
	ctx, cancel := c.within(ctx)
	defer cancel()
	owner, name := repo.Split()
	edited, _, err := c.api.Issues.EditComment(ctx, owner, name, id, &github.IssueComment{Body: &body})
	if err != nil {
		return Comment{}, explain(fmt.Sprintf("edit comment %d of %s", id, repo), err)
	}
	if edited.GetID() != id {
		return Comment{}, notTheAnswer(fmt.Sprintf("edit comment %d of %s", id, repo))
	}
	return comment(edited), nil
}

// DeleteComment removes a comment. If it does not exist, that is no error.
func (c *Client) DeleteComment(ctx context.Context, repo events.RepoName, id int64) error {
	ctx, cancel := c.within(ctx)
	defer cancel()
	owner, name := repo.Split()
	_, err := c.api.Issues.DeleteComment(ctx, owner, name, id)
	if err = explain(fmt.Sprintf("delete comment %d of %s", id, repo), err); IsMissing(err) {
		return nil
	}
	return err
}

// AddLabels adds labels to a pull request; existing labels stay.
func (c *Client) AddLabels(ctx context.Context, repo events.RepoName, pr int, labels []string) error {
	if len(labels) == 0 {
		return nil
	}
	ctx, cancel := c.within(ctx)
	defer cancel()
	owner, name := repo.Split()
	_, _, err := c.api.Issues.AddLabelsToIssue(ctx, owner, name, pr, labels)
	return explain(fmt.Sprintf("label pull request %d of %s", pr, repo), err)
}

// RemoveLabel removes a label from a pull request. If the label is not there, that is no error.
func (c *Client) RemoveLabel(ctx context.Context, repo events.RepoName, pr int, label string) error {
	ctx, cancel := c.within(ctx)
	defer cancel()
	owner, name := repo.Split()
	_, err := c.api.Issues.RemoveLabelForIssue(ctx, owner, name, pr, url.PathEscape(label))
	if err = explain(fmt.Sprintf("take label %q from pull request %d of %s", label, pr, repo), err); IsMissing(err) {
		return nil
	}
	return err
}

// Minimise folds a comment away as outdated.
func (c *Client) Minimise(ctx context.Context, nodeID string) error {
	const mutation = `mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) { minimizedComment { isMinimized } } }`
	ctx, cancel := c.within(ctx)
	defer cancel()
	call := "minimise comment " + nodeID
	req, err := c.api.NewRequest(http.MethodPost, c.graphql, map[string]any{"query": mutation, "variables": map[string]string{"id": nodeID}})
	if err != nil {
		return explain(call, err)
	}
	var answer struct {
		Data   json.RawMessage `json:"data"`
		Errors []struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	response, err := c.api.Do(ctx, req, &answer)
	if err != nil {
		return explain(call, err)
	}
	switch {
	case len(answer.Errors) == 0 && len(answer.Data) == 0:
		return notTheAnswer(call)
	case len(answer.Errors) == 0:
		return nil
	}
	// GraphQL answers 200 even if it failed.
	kind, first, after := Refused, answer.Errors[0], time.Duration(0)
	switch {
	case first.Type == "NOT_FOUND":
		kind = Missing
	case first.Type == "RATE_LIMITED" || limited.MatchString(first.Message):
		kind, after = Limited, max(retryAfter(response.Header), time.Minute)
	case strings.HasPrefix(first.Message, "Something went wrong"):
		kind = Fault
	}
	return &Error{Kind: kind, Call: call, Status: http.StatusOK, RetryAfter: after, Err: errors.New(first.Message)}
}
