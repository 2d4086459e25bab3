package fakegithub

import (
	"cmp"
	"slices"
	"strconv"
)

// pullShape returns a pull request in the form of the pulls API and the webhooks. The issue must be a pull request.
func (i *issue) pullShape(r *repository) object {
	p, number := i.pull, strconv.Itoa(i.number)
	end := func(ref, sha string) object {
		return object{"label": r.owner.Login + ":" + ref, "ref": ref, "sha": sha, "user": r.owner.shape(), "repo": r.shape()}
	}
	o := object{
		"id": i.id, "node_id": node("PR_kwDO", i.id), "number": i.number, "title": i.title, "body": i.body, "user": i.author.shape(),
		"state": i.state, "locked": false, "draft": false, "merged": p.Merged, "merge_commit_sha": nil, "merged_at": nil,
		"author_association": r.standing(i.author).association, "labels": i.labelShapes(r), "comments": len(i.comments),
		"created_at": stamp(i.createdAt), "updated_at": stamp(i.createdAt), "head": end(p.HeadRef, p.Head), "base": end(p.BaseRef, p.Base),
		"url": r.url("/pulls/" + number), "html_url": r.page("/pull/" + number), "issue_url": r.url("/issues/" + number),
		"comments_url": r.url("/issues/" + number + "/comments"), "commits_url": r.url("/pulls/" + number + "/commits"),
	}
	if p.Merge != "" {
		o["merge_commit_sha"] = p.Merge
	}
	if p.Merged {
		o["merged_at"] = stamp(i.createdAt)
	}
	return o
}

func getPull(c *call) answer {
	if i := c.issue(); i != nil && i.pull != nil {
		return ok(i.pullShape(c.repo))
	}
	return notFound()
}

// listPulls lists the newest first, and only open ones unless the request says otherwise.
func listPulls(c *call) answer {
	state := cmp.Or(c.query("state"), "open")
	return c.pageOfPulls(func(i *issue) bool {
		return (state == "all" || state == i.state) && (c.query("head") == "" || c.query("head") == c.repo.owner.Login+":"+i.pull.HeadRef)
	})
}

func listPullsOfCommit(c *call) answer {
	found := c.repo.resolve(c.names["sha"])
	return c.pageOfPulls(func(i *issue) bool {
		return found != nil && (i.pull.Head == found.SHA || i.pull.Merge == found.SHA)
	})
}

func (c *call) pageOfPulls(wanted func(*issue) bool) answer {
	var all []*issue
	for _, i := range c.repo.issues {
		if i.pull != nil && wanted(i) {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b *issue) int { return cmp.Compare(b.number, a.number) })
	return page(c, all, func(i *issue) object { return i.pullShape(c.repo) })
}
