package fakegithub

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// maxComment is how many characters a comment may have.
const maxComment = 65_536

// Comment is a comment on an issue or pull request.
type Comment struct {
	ID     int64
	NodeID string
	// Issue is the number of the issue or pull request.
	Issue                int
	Author               *User
	Body                 string
	CreatedAt, UpdatedAt time.Time
	// Edits are its earlier bodies, oldest first.
	Edits []string
	// Minimized tells whether it is hidden, and MinimizedReason why, such as "outdated".
	Minimized       bool
	MinimizedReason string
}

// Comments returns the comments on an issue or pull request, oldest first.
func (r Repository) Comments(number int) (all []Comment) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	i := r.r.issues[number]
	if i == nil {
		return nil
	}
	for _, c := range i.comments {
		all = append(all, c.copy())
	}
	return all
}

// Comment acts as a person who comments on the page. It returns when the hooks have answered.
func (r Repository) Comment(number int, author *User, body string) Comment {
	r.s.mu.Lock()
	i := r.r.issues[number]
	if i == nil {
		r.s.mu.Unlock()
		panic("fake GitHub: there is no issue " + strconv.Itoa(number) + " in " + r.r.fullName)
	}
	c, tell := r.s.comment(r.r, i, author, body)
	r.s.mu.Unlock()
	tell()
	r.s.Settle()
	return c
}

// Edit acts as a person who edits a comment on the page. It returns when the hooks have answered.
func (r Repository) Edit(id int64, editor *User, body string) Comment {
	r.s.mu.Lock()
	i, c := r.r.comment(id)
	if c == nil {
		r.s.mu.Unlock()
		panic("fake GitHub: there is no comment " + strconv.FormatInt(id, 10) + " in " + r.r.fullName)
	}
	edited, tell := r.s.edit(r.r, i, c, editor, body)
	r.s.mu.Unlock()
	tell()
	r.s.Settle()
	return edited
}

// comment adds a comment. The caller holds mu, and calls tell without it.
func (s *Server) comment(r *repository, i *issue, author *User, body string) (_ Comment, tell func()) {
	c := &Comment{ID: s.newID(), Issue: i.number, Author: author, Body: body, CreatedAt: s.now(), UpdatedAt: s.now()}
	c.NodeID = node("IC_kwDO", c.ID)
	i.comments = append(i.comments, c)
	return c.copy(), s.announce(r, "issue_comment", "created", author, object{"issue": i.shape(r), "comment": c.shape(r)})
}

func (s *Server) edit(r *repository, i *issue, c *Comment, editor *User, body string) (_ Comment, tell func()) {
	before := c.Body
	c.Edits = append(c.Edits, before)
	c.Body, c.UpdatedAt = body, s.now()
	return c.copy(), s.announce(r, "issue_comment", "edited", editor, object{
		"issue": i.shape(r), "comment": c.shape(r), "changes": object{"body": object{"from": before}},
	})
}

func (c *Comment) copy() Comment {
	one := *c
	one.Edits = slices.Clone(c.Edits)
	return one
}

func (c *Comment) shape(r *repository) object {
	id, number := strconv.FormatInt(c.ID, 10), strconv.Itoa(c.Issue)
	return object{
		"id": c.ID, "node_id": c.NodeID, "body": c.Body, "user": c.Author.shape(), "author_association": r.standing(c.Author).association,
		"created_at": stamp(c.CreatedAt), "updated_at": stamp(c.UpdatedAt), "performed_via_github_app": nil,
		"url": r.url("/issues/comments/" + id), "issue_url": r.url("/issues/" + number),
		"html_url":  r.page("/pull/" + number + "#issuecomment-" + id),
		"reactions": object{"url": r.url("/issues/comments/" + id + "/reactions"), "total_count": 0},
	}
}

// comment returns a comment and its issue.
func (r *repository) comment(id int64) (*issue, *Comment) {
	for _, i := range r.issues {
		for _, c := range i.comments {
			if c.ID == id {
				return i, c
			}
		}
	}
	return nil, nil
}

func createComment(c *call) answer {
	i := c.issue()
	if i == nil {
		return notFound()
	}
	body, bad := c.commentBody()
	if bad != nil {
		return *bad
	}
	comment, tell := c.s.comment(c.repo, i, c.actor.user, body)
	c.afterwards = append(c.afterwards, tell)
	a := created(comment.shape(c.repo))
	a.header = map[string]string{"Location": c.repo.url("/issues/comments/" + strconv.FormatInt(comment.ID, 10))}
	return a
}

func (c *call) commentBody() (string, *answer) {
	var sent struct{ Body string }
	if bad := c.read(&sent); bad != nil {
		return "", bad
	}
	if strings.TrimSpace(sent.Body) == "" {
		a := invalid("IssueComment", "unprocessable", "data", "Body cannot be blank")
		return "", &a
	}
	if utf8.RuneCountInString(sent.Body) > maxComment {
		a := invalid("IssueComment", "unprocessable", "data", "Body is too long (maximum is 65536 characters)")
		return "", &a
	}
	return sent.Body, nil
}

func getComment(c *call) answer {
	if _, comment := c.repo.comment(c.number("id")); comment != nil {
		return ok(comment.shape(c.repo))
	}
	return notFound()
}

func editComment(c *call) answer {
	i, comment := c.repo.comment(c.number("id"))
	if comment == nil {
		return notFound()
	}
	if !c.mayChange(comment) {
		return failure(http.StatusForbidden, "Resource not accessible by integration", "https://docs.github.com/rest/issues/comments#update-an-issue-comment")
	}
	body, bad := c.commentBody()
	if bad != nil {
		return *bad
	}
	edited, tell := c.s.edit(c.repo, i, comment, c.actor.user, body)
	c.afterwards = append(c.afterwards, tell)
	return ok(edited.shape(c.repo))
}

func deleteComment(c *call) answer {
	i, comment := c.repo.comment(c.number("id"))
	if comment == nil {
		return notFound()
	}
	if !c.mayChange(comment) {
		return failure(http.StatusForbidden, "Resource not accessible by integration", "https://docs.github.com/rest/issues/comments#delete-an-issue-comment")
	}
	i.comments = slices.DeleteFunc(i.comments, func(o *Comment) bool { return o == comment })
	return empty(http.StatusNoContent)
}

// mayChange reports whether the actor may edit or delete a comment: its author may, and so may everyone with write
// access.
func (c *call) mayChange(comment *Comment) bool {
	permission := c.repo.standing(c.actor.user).permission
	return comment.Author == c.actor.user || permission == "write" || permission == "admin"
}

func listComments(c *call) answer {
	i := c.issue()
	if i == nil {
		return notFound()
	}
	return c.pageOfComments(i.comments)
}

func listAllComments(c *call) answer {
	var all []*Comment
	for _, i := range c.repo.issues {
		all = append(all, i.comments...)
	}
	slices.SortFunc(all, byID(func(o *Comment) int64 { return o.ID }))
	if c.query("sort") == "updated" {
		slices.SortStableFunc(all, func(a, b *Comment) int { return a.UpdatedAt.Compare(b.UpdatedAt) })
	}
	if c.query("direction") == "desc" {
		slices.Reverse(all)
	}
	return c.pageOfComments(all)
}

// pageOfComments returns a page of the comments that were changed since the requested time.
func (c *call) pageOfComments(all []*Comment) answer {
	if since, err := time.Parse(time.RFC3339, cmp.Or(c.query("since"), "0001-01-01T00:00:00Z")); err == nil {
		all = slices.DeleteFunc(slices.Clone(all), func(o *Comment) bool { return o.UpdatedAt.Before(since) })
	}
	return page(c, all, func(o *Comment) object { return o.shape(c.repo) })
}
