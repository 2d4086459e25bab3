package fakegithub

import (
	"slices"
	"strconv"
)

// Push moves a branch to an added commit, and returns when the hooks have answered.
func (r Repository) Push(branch, sha string, pusher *User) {
	r.s.mu.Lock()
	before := r.r.branches[branch]
	r.r.branches[branch] = sha
	isNew := before == ""
	if isNew {
		before = "0000000000000000000000000000000000000000"
	}
	body := object{
		"ref": "refs/heads/" + branch, "before": before, "after": sha, "created": isNew, "deleted": false, "forced": false,
		"base_ref": nil, "compare": r.r.page("/compare/" + before + "..." + sha), "commits": []object{}, "head_commit": nil,
		"pusher": object{"name": pusher.Login, "email": pusher.Login + "@users.noreply.github.com"},
	}
	if c := r.r.commits[sha]; c != nil {
		body["head_commit"] = c.pushShape(r.r)
		pushed := []object{}
		for _, one := range slices.Backward(without(r.r.ancestors(c), r.r.ancestors(r.r.commits[before]))) {
			pushed = append(pushed, one.pushShape(r.r))
		}
		body["commits"] = pushed
	}
	tell := r.s.announce(r.r, "push", "", pusher, body)
	r.s.mu.Unlock()
	tell()
	r.s.Settle()
}

// pushShape returns a commit in the form of a push, which differs from the API's.
func (c *commit) pushShape(r *repository) object {
	who := object{"name": c.Author.Login, "email": c.Author.Login + "@users.noreply.github.com", "username": c.Author.Login}
	return object{
		"id": c.SHA, "tree_id": c.tree(), "distinct": true, "message": c.Message, "timestamp": stamp(c.At), "url": r.page("/commit/" + c.SHA),
		"author": who, "committer": who, "added": []string{}, "removed": []string{}, "modified": []string{},
	}
}

// Run is a check suite or workflow run that ended.
type Run struct {
	// Branch and SHA say what was built.
	Branch, SHA string
	// Conclusion is "success", "failure", "cancelled" and so on.
	Conclusion string
	// Workflow is the name of a workflow; unused by check suites.
	Workflow string
	// App is the slug of the App that ran a check suite; empty is GitHub's own, "github-actions".
	App string
	// Pulls are the numbers of the pull requests whose head was built.
	Pulls []int
	// Sender is the user who caused it.
	Sender *User
}

// CompleteCheckSuite tells the hooks that a check suite ended, and returns when they have answered.
func (r Repository) CompleteCheckSuite(run Run) {
	slug := run.App
	if slug == "" {
		slug = "github-actions"
	}
	r.tell("check_suite", "completed", run.Sender, func() object {
		suite := r.runShape(run)
		suite["node_id"], suite["before"], suite["after"] = node("CS_kwDO", r.r.id), nil, run.SHA
		suite["app"] = object{"id": 15368, "slug": slug, "name": slug, "owner": r.r.owner.shape(), "events": []string{}}
		suite["latest_check_runs_count"] = 1
		suite["check_runs_url"] = r.r.url("/check-suites/1/check-runs")
		return object{"check_suite": suite}
	})
}

// CompleteWorkflowRun tells the hooks that a run of a workflow ended, and returns when they have answered.
func (r Repository) CompleteWorkflowRun(run Run) {
	r.tell("workflow_run", "completed", run.Sender, func() object {
		shape := r.runShape(run)
		shape["node_id"], shape["name"], shape["event"] = node("WFR_kwLO", r.r.id), run.Workflow, "push"
		shape["run_number"], shape["run_attempt"], shape["workflow_id"] = 1, 1, 7
		shape["html_url"] = r.r.page("/actions/runs/" + strconv.FormatInt(shape["id"].(int64), 10))
		shape["actor"], shape["triggering_actor"] = run.Sender.shape(), run.Sender.shape()
		shape["repository"], shape["head_repository"] = r.r.shape(), r.r.shape()
		return object{
			"workflow_run": shape,
			"workflow":     object{"id": 7, "name": run.Workflow, "path": ".github/workflows/ci.yml", "state": "active"},
		}
	})
}

// runShape returns what check suites and workflow runs have in common. The caller holds mu.
func (r Repository) runShape(run Run) object {
	pulls := []object{}
	for _, number := range run.Pulls {
		i := r.r.issues[number]
		if i == nil || i.pull == nil {
			continue
		}
		end := func(ref, sha string) object {
			return object{"ref": ref, "sha": sha, "repo": object{"id": r.r.id, "url": r.r.url(""), "name": r.r.name()}}
		}
		pulls = append(pulls, object{
			"url": r.r.url("/pulls/" + strconv.Itoa(number)), "id": i.id, "number": number,
			"head": end(i.pull.HeadRef, i.pull.Head), "base": end(i.pull.BaseRef, i.pull.Base),
		})
	}
	shape := object{
		"id": r.s.newID(), "head_branch": run.Branch, "head_sha": run.SHA, "status": "completed", "conclusion": run.Conclusion,
		"pull_requests": pulls, "created_at": stamp(r.s.now()), "updated_at": stamp(r.s.now()), "head_commit": nil,
	}
	if c := r.r.commits[run.SHA]; c != nil {
		shape["head_commit"] = c.pushShape(r.r)
	}
	return shape
}

// TellPull tells the hooks that something happened to a pull request, such as "opened", "closed" or "synchronize",
// and returns when they have answered.
func (r Repository) TellPull(number int, action string, sender *User) {
	r.tell("pull_request", action, sender, func() object {
		i := r.r.issues[number]
		if i == nil || i.pull == nil {
			panic("fake GitHub: there is no pull request " + strconv.Itoa(number) + " in " + r.r.fullName)
		}
		return object{"number": number, "pull_request": i.pullShape(r.r)}
	})
}

// tell calls about under the lock and announces its result. It returns when the hooks have answered.
func (r Repository) tell(event, action string, sender *User, about func() object) {
	r.s.mu.Lock()
	tell := r.s.announce(r.r, event, action, sender, about())
	r.s.mu.Unlock()
	tell()
	r.s.Settle()
}
