package fakegithub

import (
	"net/http"
	"slices"
	"strings"
)

// endpoint is one method and path. A name in braces matches one part of the path, with "..." all the rest. The first
// endpoint that matches answers.
type endpoint struct {
	method, path string
	do           func(*call) answer
	// open endpoints need no credentials.
	open bool
}

// endpoints returns the endpoints of this GitHub. Those below /repos get their repository.
func endpoints() []endpoint {
	const repo = "/repos/{owner}/{repo}"
	return []endpoint{
		{http.MethodGet, "/rate_limit", rateLimit, true},
		{http.MethodGet, "/user", whoAmI, false},
		{http.MethodGet, "/users/{login}", getUser, true},
		{http.MethodGet, "/user/{id}", getUserByID, true},
		{http.MethodPost, "/graphql", graphQL, false},

		{http.MethodGet, "/app", getApp, false},
		{http.MethodGet, "/app/installations", listInstallations, false},
		{http.MethodPost, "/app/installations/{id}/access_tokens", createAccessToken, false},
		{http.MethodGet, "/app/hook/deliveries", listDeliveries, false},
		{http.MethodGet, "/app/hook/deliveries/{delivery}", getDelivery, false},
		{http.MethodPost, "/app/hook/deliveries/{delivery}/attempts", redeliver, false},

		{http.MethodGet, repo, getRepository, true},
		{http.MethodGet, repo + "/installation", getInstallation, false},
		{http.MethodGet, repo + "/collaborators/{login}", isCollaborator, false},
		{http.MethodGet, repo + "/collaborators/{login}/permission", getPermission, false},

		{http.MethodGet, repo + "/issues/comments", listAllComments, true},
		{http.MethodGet, repo + "/issues/comments/{id}", getComment, true},
		{http.MethodPatch, repo + "/issues/comments/{id}", editComment, false},
		{http.MethodDelete, repo + "/issues/comments/{id}", deleteComment, false},
		{http.MethodGet, repo + "/issues/{number}", getIssue, true},
		{http.MethodGet, repo + "/issues/{number}/comments", listComments, true},
		{http.MethodPost, repo + "/issues/{number}/comments", createComment, false},
		{http.MethodGet, repo + "/issues/{number}/labels", listLabels, true},
		{http.MethodPost, repo + "/issues/{number}/labels", addLabels, false},
		{http.MethodPut, repo + "/issues/{number}/labels", replaceLabels, false},
		{http.MethodDelete, repo + "/issues/{number}/labels/{name...}", removeLabel, false},

		{http.MethodGet, repo + "/pulls", listPulls, true},
		{http.MethodGet, repo + "/pulls/{number}", getPull, true},
		{http.MethodGet, repo + "/commits", listCommits, true},
		{http.MethodGet, repo + "/commits/{sha}/pulls", listPullsOfCommit, true},
		{http.MethodGet, repo + "/commits/{ref...}", getCommit, true},
		{http.MethodGet, repo + "/compare/{between...}", compareCommits, true},
		{http.MethodGet, repo + "/git/ref/heads/{branch...}", getRef, true},
		{http.MethodGet, repo + "/git/trees/{sha}", getTree, true},
		{http.MethodGet, repo + "/git/blobs/{sha}", getBlob, true},
		{http.MethodGet, repo + "/branches/{branch...}", getBranch, true},

		{http.MethodGet, repo + "/hooks/{hook}/deliveries", listDeliveries, false},
		{http.MethodGet, repo + "/hooks/{hook}/deliveries/{delivery}", getDelivery, false},
		{http.MethodPost, repo + "/hooks/{hook}/deliveries/{delivery}/attempts", redeliver, false},
	}
}

// route answers a call by its endpoint.
func route(c *call) answer {
	for _, e := range endpoints() {
		names, fits := match(e.path, c.path)
		if !fits || e.method != c.r.Method {
			continue
		}
		c.names = names
		if !e.open && c.actor.anonymous() {
			return failure(http.StatusUnauthorized, "Requires authentication", "https://docs.github.com/rest")
		}
		if names["owner"] == "" {
			return e.do(c)
		}
		name := names["owner"] + "/" + names["repo"]
		if c.repo = c.s.repositories[strings.ToLower(name)]; c.repo == nil || !c.actor.reaches(c.repo) {
			return notFound()
		}
		return e.do(c)
	}
	return notFound()
}

// match matches a path with the pattern of an endpoint. It returns the values of the names.
func match(pattern, path string) (names map[string]string, fits bool) {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	names = map[string]string{}
	for i, w := range want {
		name, isName := strings.CutPrefix(strings.TrimSuffix(w, "}"), "{")
		rest, isRest := strings.CutSuffix(name, "...")
		switch {
		case i >= len(have):
			return nil, false
		case isName && isRest:
			names[rest] = strings.Join(have[i:], "/")
			return names, names[rest] != ""
		case isName && have[i] != "":
			names[name] = have[i]
		case w != have[i]:
			return nil, false
		}
	}
	return names, len(want) == len(have) && !slices.Contains(have[1:], "")
}
