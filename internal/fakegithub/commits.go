package fakegithub

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Commit describes a commit.
type Commit struct {
	SHA string
	// Parents are SHAs, the first parent first. They need not exist.
	Parents []string
	Message string
	// Author is nil if it does not matter.
	Author *User
	// At is when it was committed; the zero time is now.
	At time.Time
	// Files are the commit's tree, by path. Without them it is empty.
	Files map[string]File
}

type commit struct {
	Commit
	order int
}

// AddCommit adds a commit that is not on any branch yet.
func (r Repository) AddCommit(c Commit) {
	if c.Author == nil {
		c.Author = r.s.AddUser("somebody")
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if c.At.IsZero() {
		c.At = r.s.now()
	}
	c.SHA, c.Parents = strings.ToLower(c.SHA), slices.Clone(c.Parents)
	r.r.order++
	r.r.commits[c.SHA] = &commit{Commit: c, order: r.r.order}
}

// SetBranch makes a branch point to a commit. It tells no hook; see [Repository.Push].
func (r Repository) SetBranch(branch, sha string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.r.branches[branch] = sha
}

// resolve returns the commit that a branch, a SHA or the beginning of a SHA names.
func (r *repository) resolve(ref string) *commit {
	ref = strings.TrimPrefix(strings.TrimPrefix(ref, "refs/"), "heads/")
	if sha, isBranch := r.branches[ref]; isBranch {
		return r.commits[sha]
	}
	ref = strings.ToLower(ref)
	if c := r.commits[ref]; c != nil || len(ref) < 4 {
		return c
	}
	var found *commit
	for sha, c := range r.commits {
		if strings.HasPrefix(sha, ref) {
			if found != nil {
				return nil // it names more than one
			}
			found = c
		}
	}
	return found
}

// ancestors returns a commit and all before it, as git log does: the newest first.
func (r *repository) ancestors(from *commit) []*commit {
	seen := map[*commit]bool{}
	for left := []*commit{from}; len(left) > 0; {
		c := left[len(left)-1]
		left = left[:len(left)-1]
		if c == nil || seen[c] {
			continue
		}
		seen[c] = true
		for _, parent := range c.Parents {
			left = append(left, r.commits[strings.ToLower(parent)])
		}
	}
	return newestFirst(maps.Keys(seen))
}

func newestFirst(commits func(func(*commit) bool)) []*commit {
	return slices.SortedFunc(commits, func(a, b *commit) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.order, a.order)) })
}

func (c *commit) shape(r *repository) object {
	parents := make([]object, len(c.Parents))
	for i, p := range c.Parents {
		parents[i] = object{"sha": p, "url": r.url("/commits/" + p), "html_url": r.page("/commit/" + p)}
	}
	return object{
		"sha": c.SHA, "node_id": node("C_kwDO", int64(c.order)), "url": r.url("/commits/" + c.SHA), "html_url": r.page("/commit/" + c.SHA),
		"comments_url": r.url("/commits/" + c.SHA + "/comments"),
		"commit": object{
			"message": c.Message, "author": c.person(), "committer": c.person(), "comment_count": 0,
			"tree":         object{"sha": c.tree(), "url": r.url("/git/trees/" + c.tree())},
			"url":          r.url("/git/commits/" + c.SHA),
			"verification": object{"verified": false, "reason": "unsigned", "signature": nil, "payload": nil},
		},
		"author": c.Author.shape(), "committer": c.Author.shape(), "parents": parents,
	}
}

func (c *commit) person() object {
	return object{"name": c.Author.Login, "email": c.Author.Login + "@users.noreply.github.com", "date": stamp(c.At)}
}

// tree returns a number that looks like the hash of the commit's tree.
func (c *commit) tree() string { return fmt.Sprintf("%040x", c.order) }

func getCommit(c *call) answer {
	found := c.repo.resolve(c.names["ref"])
	if found == nil {
		return failure(http.StatusUnprocessableEntity, "No commit found for SHA: "+c.names["ref"], "https://docs.github.com/rest/commits/commits#get-a-commit")
	}
	if strings.Contains(c.r.Header.Get("Accept"), "sha") {
		return answer{status: http.StatusOK, header: map[string]string{"Content-Type": "application/vnd.github.sha; charset=utf-8"}, body: found.SHA}
	}
	o := found.shape(c.repo)
	o["stats"], o["files"] = object{"total": 0, "additions": 0, "deletions": 0}, []object{}
	return ok(o)
}

func listCommits(c *call) answer {
	if len(c.repo.commits) == 0 {
		return failure(http.StatusConflict, "Git Repository is empty.", "https://docs.github.com/rest/commits/commits#list-commits")
	}
	from := c.repo.resolve(cmp.Or(c.query("sha"), "master"))
	if from == nil {
		return notFound()
	}
	list := c.repo.ancestors(from)
	for _, limit := range []struct {
		key  string
		past func(o *commit, t time.Time) bool
	}{
		{"since", func(o *commit, t time.Time) bool { return o.At.Before(t) }},
		{"until", func(o *commit, t time.Time) bool { return o.At.After(t) }},
	} {
		if t, err := time.Parse(time.RFC3339, c.query(limit.key)); err == nil {
			list = slices.DeleteFunc(list, func(o *commit) bool { return limit.past(o, t) })
		}
	}
	return page(c, list, func(o *commit) object { return o.shape(c.repo) })
}

func compareCommits(c *call) answer {
	from, to, _ := strings.Cut(c.names["between"], "...")
	base, head := c.repo.resolve(from), c.repo.resolve(to)
	if base == nil || head == nil {
		return notFound()
	}
	ofBase, ofHead := c.repo.ancestors(base), c.repo.ancestors(head)
	ahead, behind := without(ofHead, ofBase), without(ofBase, ofHead)
	status := "diverged"
	switch {
	case len(ahead) == 0 && len(behind) == 0:
		status = "identical"
	case len(behind) == 0:
		status = "ahead"
	case len(ahead) == 0:
		status = "behind"
	}
	shapes := make([]object, 0, len(ahead))
	for _, o := range slices.Backward(ahead) {
		shapes = append(shapes, o.shape(c.repo))
	}
	o := object{
		"status": status, "ahead_by": len(ahead), "behind_by": len(behind), "total_commits": len(ahead), "commits": shapes,
		"files": []object{}, "base_commit": base.shape(c.repo), "url": c.repo.url("/compare/" + c.names["between"]),
		"html_url": c.repo.page("/compare/" + c.names["between"]),
	}
	if shared := without(ofHead, ahead); len(shared) > 0 {
		o["merge_base_commit"] = shared[0].shape(c.repo)
	}
	return ok(o)
}

func without(all, some []*commit) []*commit {
	known := map[*commit]bool{}
	for _, c := range some {
		known[c] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(c *commit) bool { return known[c] })
}

func getRef(c *call) answer {
	sha, isBranch := c.repo.branches[c.names["branch"]]
	if !isBranch {
		return notFound()
	}
	ref := "refs/heads/" + c.names["branch"]
	return ok(object{
		"ref": ref, "node_id": node("REF_kwDO", c.repo.id), "url": c.repo.url("/git/" + ref),
		"object": object{"type": "commit", "sha": sha, "url": c.repo.url("/git/commits/" + sha)},
	})
}

func getBranch(c *call) answer {
	sha, isBranch := c.repo.branches[c.names["branch"]]
	if !isBranch || c.repo.commits[sha] == nil {
		return failure(http.StatusNotFound, "Branch not found", "https://docs.github.com/rest/branches/branches#get-a-branch")
	}
	return ok(object{"name": c.names["branch"], "commit": c.repo.commits[sha].shape(c.repo), "protected": false})
}
