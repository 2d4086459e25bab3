package fakegithub

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// issue is an issue or a pull request.
type issue struct {
	id        int64
	number    int
	title     string
	body      string
	author    *User
	state     string
	createdAt time.Time
	// pull is nil for an issue.
	pull     *Pull
	comments []*Comment
	labels   []string
}

// Pull describes a pull request.
type Pull struct {
	Number      int
	Title, Body string
	// Author is nil if it does not matter.
	Author *User
	// State is "open" or "closed"; empty means open.
	State  string
	Merged bool
	// Head and Base are commits, HeadRef and BaseRef branches.
	Head, HeadRef, Base, BaseRef string
	// Merge is the commit that merged it, or GitHub's test merge.
	Merge string
}

// AddPull adds a pull request, or changes the one with its number.
func (r Repository) AddPull(p Pull) {
	if p.HeadRef == "" {
		p.HeadRef = "feature-" + strconv.Itoa(p.Number)
	}
	if p.BaseRef == "" {
		p.BaseRef = "master"
	}
	i := r.addIssue(p.Number, p.Title, p.Body, p.Author)
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	i.pull = &p
	if p.State != "" {
		i.state = p.State
	}
}

// AddIssue adds an issue that is not a pull request.
func (r Repository) AddIssue(number int, title string) { r.addIssue(number, title, "", nil) }

func (r Repository) addIssue(number int, title, body string, author *User) *issue {
	if author == nil {
		author = r.s.AddUser("somebody")
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	i := r.r.issues[number]
	if i == nil {
		i = &issue{id: r.s.newID(), number: number, state: "open", createdAt: r.s.now()}
		r.r.issues[number] = i
	}
	i.title, i.body, i.author = title, body, author
	return i
}

// Labels returns the labels of an issue or pull request, in the order in which they were added.
func (r Repository) Labels(number int) []string {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if i := r.r.issues[number]; i != nil {
		return slices.Clone(i.labels)
	}
	return nil
}

// shape returns an issue in the form of the issues API and the webhooks. Both show pull requests too.
func (i *issue) shape(r *repository) object {
	number := strconv.Itoa(i.number)
	kind := "/issues/"
	if i.pull != nil {
		kind = "/pull/"
	}
	o := object{
		"id": i.id, "node_id": node("I_kwDO", i.id), "number": i.number, "title": i.title, "body": i.body, "user": i.author.shape(),
		"state": i.state, "locked": false, "comments": len(i.comments), "labels": i.labelShapes(r), "assignees": []object{},
		"author_association": r.standing(i.author).association, "created_at": stamp(i.createdAt), "updated_at": stamp(i.createdAt),
		"url": r.url("/issues/" + number), "html_url": r.page(kind + number), "repository_url": r.url(""),
		"comments_url": r.url("/issues/" + number + "/comments"), "labels_url": r.url("/issues/" + number + "/labels{/name}"),
	}
	if i.pull != nil {
		o["pull_request"] = object{
			"url": r.url("/pulls/" + number), "html_url": r.page("/pull/" + number),
			"diff_url": r.page("/pull/" + number + ".diff"), "patch_url": r.page("/pull/" + number + ".patch"),
		}
	}
	return o
}

func (i *issue) labelShapes(r *repository) []object {
	shapes := make([]object, len(i.labels))
	for n, name := range i.labels {
		shapes[n] = object{
			"id": n + 1, "node_id": node("LA_kwDO", int64(n+1)), "name": name, "color": "ededed", "default": false,
			"description": nil, "url": r.url("/labels/" + name),
		}
	}
	return shapes
}

// issue returns the issue of a call.
func (c *call) issue() *issue { return c.repo.issues[int(c.number("number"))] }

func getIssue(c *call) answer {
	if i := c.issue(); i != nil {
		return ok(i.shape(c.repo))
	}
	return notFound()
}

func listLabels(c *call) answer {
	i := c.issue()
	if i == nil {
		return notFound()
	}
	return page(c, i.labelShapes(c.repo), func(o object) object { return o })
}

func addLabels(c *call) answer {
	return c.label(func(i *issue, names []string) {
		for _, name := range names {
			if !slices.ContainsFunc(i.labels, same(name)) {
				i.labels = append(i.labels, name)
			}
		}
	})
}

func replaceLabels(c *call) answer {
	return c.label(func(i *issue, names []string) { i.labels = slices.Clone(names) })
}

func removeLabel(c *call) answer {
	i := c.issue()
	if i == nil {
		return notFound()
	}
	at := slices.IndexFunc(i.labels, same(c.names["name"]))
	if at < 0 {
		return failure(http.StatusNotFound, "Label does not exist", "https://docs.github.com/rest/issues/labels#remove-a-label-from-an-issue")
	}
	i.labels = slices.Delete(i.labels, at, at+1)
	return ok(i.labelShapes(c.repo))
}

// label applies change to an issue, with the labels in the body. The body may have either of the forms that GitHub
// accepts.
func (c *call) label(change func(i *issue, names []string)) answer {
	i := c.issue()
	if i == nil {
		return notFound()
	}
	var names []string
	if c.read(&names) != nil {
		var body struct{ Labels []string }
		if bad := c.read(&body); bad != nil {
			return *bad
		}
		names = body.Labels
	}
	if slices.Contains(names, "") {
		return invalid("Label", "missing_field", "name", "name is required")
	}
	change(i, names)
	return ok(i.labelShapes(c.repo))
}

// same returns a comparison of label names, which ignores the case.
func same(name string) func(string) bool {
	return func(other string) bool { return strings.EqualFold(name, other) }
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
