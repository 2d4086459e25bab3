package fakegithub

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v62/github"
)

const fullName = "rust-lang/rust"

// world is a server with a repository, a pull request and a bot with a token.
type world struct {
	*Server
	repo  Repository
	bot   *User
	alice *User
	api   *github.Client
}

func start(t *testing.T, c Config) world {
	t.Helper()
	s := Start(t, c)
	w := world{Server: s, repo: s.Repository(fullName), bot: s.AddBot("tacho[bot]"), alice: s.AddUser("alice")}
	s.AddToken("secret", w.bot)
	w.repo.AddPull(Pull{Number: 7, Title: "Faster", Author: w.alice, Head: sha(9)})
	w.repo.SetStanding(w.alice, "write", "MEMBER")
	w.api = client(t, s, "/").WithAuthToken("secret")
	return w
}

// client returns the real client, on one of the two paths of the API.
func client(t *testing.T, s *Server, path string) *github.Client {
	t.Helper()
	base, err := url.Parse(s.URL() + path)
	if err != nil {
		t.Fatal(err)
	}
	c := github.NewClient(&http.Client{Transport: s.Client().Transport})
	c.BaseURL = base
	return c
}

func sha(n int) string { return fmt.Sprintf("%040x", n) }

func TestComments(t *testing.T) {
	for _, path := range []string{"/", "/api/v3/"} {
		t.Run(path, func(t *testing.T) {
			w, ctx := start(t, Config{}), t.Context()
			api := client(t, w.Server, path).WithAuthToken("secret")
			w.repo.Comment(7, w.alice, "@tacho queue")
			made, _, err := api.Issues.CreateComment(ctx, "rust-lang", "rust", 7, &github.IssueComment{Body: github.String("Queued <b>.")})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := api.Issues.EditComment(ctx, "rust-lang", "rust", made.GetID(), &github.IssueComment{Body: github.String("Done.")}); err != nil {
				t.Fatal(err)
			}
			list, _, err := api.Issues.ListComments(ctx, "rust-lang", "rust", 7, nil)
			if err != nil || len(list) != 2 {
				t.Fatalf("got %v, %v", list, err)
			}
			got, _, err := api.Issues.GetComment(ctx, "rust-lang", "rust", made.GetID())
			if err != nil {
				t.Fatal(err)
			}
			if got.GetBody() != "Done." || got.GetUser().GetLogin() != "tacho[bot]" || got.GetUser().GetType() != "Bot" || got.GetNodeID() == "" ||
				list[0].GetAuthorAssociation() != "MEMBER" || list[1].GetID() != made.GetID() || got.GetCreatedAt().IsZero() {
				t.Errorf("got %v", got)
			}
			state := w.repo.Comments(7)
			if len(state) != 2 || state[1].Body != "Done." || !slices.Equal(state[1].Edits, []string{"Queued <b>."}) {
				t.Errorf("state %+v", state)
			}
			r := w.Requests("POST", "/repos/*/*/issues/7/comments")
			if len(r) != 1 || r[0].Auth != TokenAuth || r[0].Actor != "tacho[bot]" || r[0].Status != 201 || r[0].Enterprise != (path != "/") ||
				!strings.Contains(r[0].Body, "Queued") {
				t.Errorf("recorded %+v", r)
			}
		})
	}
}

func TestCommentsAreValidated(t *testing.T) {
	w, ctx := start(t, Config{}), t.Context()
	for _, body := range []string{"", " \n", strings.Repeat("é", 65_537)} {
		_, response, err := w.api.Issues.CreateComment(ctx, "rust-lang", "rust", 7, &github.IssueComment{Body: &body})
		var refused *github.ErrorResponse
		if !errors.As(err, &refused) || response.StatusCode != 422 || len(refused.Errors) != 1 {
			t.Errorf("%.10q: %v", body, err)
		}
	}
	longest := strings.Repeat("é", 65_536)
	if _, _, err := w.api.Issues.CreateComment(ctx, "rust-lang", "rust", 7, &github.IssueComment{Body: &longest}); err != nil {
		t.Error(err)
	}
	if _, response, err := w.api.Issues.CreateComment(ctx, "rust-lang", "rust", 8, &github.IssueComment{Body: &longest}); err == nil || response.StatusCode != 404 {
		t.Errorf("on no issue: %v", err)
	}
	foreign := w.repo.Comment(7, w.alice, "mine")
	if _, response, err := w.api.Issues.EditComment(ctx, "rust-lang", "rust", foreign.ID, &github.IssueComment{Body: &longest}); err == nil || response.StatusCode != 403 {
		t.Errorf("a foreign comment: %v", err)
	}
}

func TestPages(t *testing.T) {
	w, ctx := start(t, Config{}), t.Context()
	for n := range 75 {
		w.repo.Comment(7, w.alice, fmt.Sprint(n))
	}
	var bodies []string
	options := &github.IssueListCommentsOptions{}
	for pages := 1; ; pages++ {
		list, response, err := w.api.Issues.ListComments(ctx, "rust-lang", "rust", 7, options)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			bodies = append(bodies, c.GetBody())
		}
		if response.NextPage == 0 {
			if pages != 3 {
				t.Errorf("%d pages", pages)
			}
			break
		}
		options.Page = response.NextPage
	}
	if len(bodies) != 75 || bodies[0] != "0" || bodies[74] != "74" {
		t.Errorf("got %v", bodies)
	}
}

func TestLabels(t *testing.T) {
	w, ctx := start(t, Config{}), t.Context()
	if _, _, err := w.api.Issues.AddLabelsToIssue(ctx, "rust-lang", "rust", 7, []string{"S-waiting-on-perf", "perf-regression", "s-Waiting-on-perf"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.api.Issues.RemoveLabelForIssue(ctx, "rust-lang", "rust", 7, "S-waiting-on-perf"); err != nil {
		t.Fatal(err)
	}
	if response, err := w.api.Issues.RemoveLabelForIssue(ctx, "rust-lang", "rust", 7, "S-waiting-on-perf"); err == nil || response.StatusCode != 404 {
		t.Errorf("twice: %v", err)
	}
	list, _, err := w.api.Issues.ListLabelsByIssue(ctx, "rust-lang", "rust", 7, nil)
	if err != nil || len(list) != 1 || list[0].GetName() != "perf-regression" || !slices.Equal(w.repo.Labels(7), []string{"perf-regression"}) {
		t.Errorf("got %v, %v", list, err)
	}
}

func TestPulls(t *testing.T) {
	w, ctx := start(t, Config{}), t.Context()
	w.repo.AddIssue(8, "A question")
	p, _, err := w.api.PullRequests.Get(ctx, "rust-lang", "rust", 7)
	if err != nil || p.GetHead().GetSHA() != sha(9) || p.GetUser().GetLogin() != "alice" || p.GetState() != "open" {
		t.Errorf("got %v, %v", p, err)
	}
	if _, response, err := w.api.PullRequests.Get(ctx, "rust-lang", "rust", 8); err == nil || response.StatusCode != 404 {
		t.Errorf("an issue: %v", err)
	}
	for number, isPull := range map[int]bool{7: true, 8: false} {
		if i, _, err := w.api.Issues.Get(ctx, "rust-lang", "rust", number); err != nil || i.IsPullRequest() != isPull {
			t.Errorf("issue %d: %v, %v", number, i, err)
		}
	}
	level, _, err := w.api.Repositories.GetPermissionLevel(ctx, "rust-lang", "rust", "alice")
	if err != nil || level.GetPermission() != "write" {
		t.Errorf("permission %v, %v", level, err)
	}
}

// history makes a branch of four commits, the third of which merges a side branch.
func history(w world) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for n, parents := range map[int][]string{1: nil, 2: {sha(1)}, 3: {sha(1)}, 4: {sha(2), sha(3)}, 5: {sha(4)}} {
		w.repo.AddCommit(Commit{SHA: sha(n), Parents: parents, Message: fmt.Sprintf("Auto merge of #%d", n), At: at.AddDate(0, 0, n)})
	}
	w.repo.SetBranch("master", sha(5))
}

func TestCommits(t *testing.T) {
	w, ctx := start(t, Config{}), t.Context()
	history(w)
	var got []string
	options := &github.CommitsListOptions{SHA: "master", ListOptions: github.ListOptions{PerPage: 2}}
	for {
		list, response, err := w.api.Repositories.ListCommits(ctx, "rust-lang", "rust", options)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			got = append(got, c.GetCommit().GetMessage())
		}
		if response.NextPage == 0 {
			break
		}
		options.Page = response.NextPage
	}
	if want := []string{"Auto merge of #5", "Auto merge of #4", "Auto merge of #3", "Auto merge of #2", "Auto merge of #1"}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	merge, _, err := w.api.Repositories.GetCommit(ctx, "rust-lang", "rust", sha(4), nil)
	if err != nil || len(merge.Parents) != 2 || merge.Parents[0].GetSHA() != sha(2) || merge.GetCommit().GetCommitter().GetDate().Day() != 5 {
		t.Errorf("got %v, %v", merge, err)
	}
	if one, _, err := w.api.Repositories.GetCommitSHA1(ctx, "rust-lang", "rust", "master", ""); err != nil || one != sha(5) {
		t.Errorf("got %q, %v", one, err)
	}
	if _, response, err := w.api.Repositories.GetCommit(ctx, "rust-lang", "rust", sha(77), nil); err == nil || response.StatusCode != 422 {
		t.Errorf("an unknown commit: %v", err)
	}
	between, _, err := w.api.Repositories.CompareCommits(ctx, "rust-lang", "rust", sha(2), sha(4), nil)
	if err != nil || between.GetStatus() != "ahead" || between.GetAheadBy() != 2 || between.GetMergeBaseCommit().GetSHA() != sha(2) {
		t.Errorf("got %v, %v", between, err)
	}
	since, _, err := w.api.Repositories.ListCommits(ctx, "rust-lang", "rust", &github.CommitsListOptions{Since: time.Date(2026, 5, 5, 0, 0, 0, 0, time.UTC)})
	if err != nil || len(since) != 2 {
		t.Errorf("got %v, %v", since, err)
	}
}

func TestConditionalRequestsAreFree(t *testing.T) {
	w, ctx := start(t, Config{}), t.Context()
	history(w)
	w.Allow(2)
	ask := func(tag string) *github.Response {
		request, err := w.api.NewRequest("GET", "repos/"+fullName+"/commits?sha=master", nil)
		if err != nil {
			t.Fatal(err)
		}
		if tag != "" {
			request.Header.Set("If-None-Match", tag)
		}
		response, _ := w.api.Do(ctx, request, nil)
		return response
	}
	first := ask("")
	tag := first.Header.Get("ETag")
	for range 3 {
		if r := ask(tag); r.StatusCode != http.StatusNotModified || r.Rate.Remaining != 1 {
			t.Fatalf("%d, %d left", r.StatusCode, r.Rate.Remaining)
		}
	}
	w.repo.AddCommit(Commit{SHA: sha(6), Parents: []string{sha(5)}})
	w.repo.SetBranch("master", sha(6))
	if r := ask(tag); r.StatusCode != http.StatusOK || r.Rate.Remaining != 0 {
		t.Fatalf("%d, %d left", r.StatusCode, r.Rate.Remaining)
	}
	_, _, err := client(t, w.Server, "/").WithAuthToken("secret").Repositories.Get(ctx, "rust-lang", "rust")
	var limited *github.RateLimitError
	if !errors.As(err, &limited) || limited.Rate.Limit != 2 {
		t.Errorf("got %v", err)
	}
}

func TestMinimise(t *testing.T) {
	const inline = `mutation { minimizeComment(input: {subjectId: %q, classifier: OUTDATED}) { minimizedComment { isMinimized } } }`
	const variables = `mutation($id: ID!, $why: ReportedContentClassifiers!) { minimizeComment(input: {subjectId: $id, classifier: $why}) { minimizedComment { isMinimized } } }`
	const input = `mutation($input: MinimizeCommentInput!) { minimizeComment(input: $input) { minimizedComment { isMinimized } } }`
	w := start(t, Config{})
	for name, query := range map[string]func(id string) object{
		"in place": func(id string) object { return object{"query": fmt.Sprintf(inline, id)} },
		"in variables": func(id string) object {
			return object{"query": variables, "variables": object{"id": id, "why": "OUTDATED"}}
		},
		"in an object": func(id string) object {
			return object{"query": input, "variables": object{"input": object{"subjectId": id, "classifier": "OUTDATED"}}}
		},
	} {
		for _, path := range []string{"/graphql", "/api/graphql"} {
			t.Run(name+" "+path, func(t *testing.T) {
				c := w.repo.Comment(7, w.bot, "temporary")
				got := post(t, w, path, query(c.NodeID))
				if !strings.Contains(got, `"isMinimized":true`) || strings.Contains(got, "errors") {
					t.Errorf("got %s", got)
				}
				all := w.repo.Comments(7)
				if last := all[len(all)-1]; !last.Minimized || last.MinimizedReason != "outdated" {
					t.Errorf("state %+v", last)
				}
				if got := post(t, w, path, query("IC_nobody")); !strings.Contains(got, "NOT_FOUND") {
					t.Errorf("got %s", got)
				}
				asked := object{"query": `query($id: ID!) { node(id: $id) { ... on IssueComment { isMinimized } } }`, "variables": object{"id": c.NodeID}}
				if got := post(t, w, path, asked); !strings.Contains(got, `"isMinimized":true`) {
					t.Errorf("got %s", got)
				}
			})
		}
	}
}

func post(t *testing.T, w world, path string, body object) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL()+path, bytes.NewReader(encode(body)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "bearer secret")
	response, err := w.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var b bytes.Buffer
	if _, err := b.ReadFrom(response.Body); err != nil || response.StatusCode != 200 {
		t.Fatalf("%v, %v: %s", response.Status, err, &b)
	}
	return b.String()
}

// Every field that both the real payloads and ours have is of the same JSON type. So is every field that Tacho may
// read.
func TestPayloadsAreLikeRealOnes(t *testing.T) {
	w := start(t, Config{})
	history(w)
	r := receive(t)
	h := w.repo.AddHook(Hook{URL: r.url, Secret: "s3cret"})
	w.repo.Comment(7, w.alice, "hello")
	w.repo.CompleteCheckSuite(Run{Branch: "try", SHA: sha(4), Conclusion: "success", Sender: w.alice, Pulls: []int{7}})
	w.repo.Push("master", sha(5), w.alice)
	_ = h
	for file, path := range map[string]string{
		"issue_comment": "action comment.body comment.id comment.node_id comment.author_association comment.user.id comment.user.type issue.number issue.pull_request.url repository.full_name sender.id",
		"check_suite":   "action check_suite.head_sha check_suite.head_branch check_suite.conclusion check_suite.pull_requests check_suite.app.id sender.id",
		"push":          "ref before after commits head_commit.id repository.full_name sender.login",
	} {
		found, err := filepath.Glob(filepath.Join("testdata", file+".*.json"))
		if err != nil || len(found) != 1 {
			t.Fatalf("%v, %v", found, err)
		}
		data, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		if err := cmp.Or(json.Unmarshal(data, &want), json.Unmarshal(r.last(file), &got)); err != nil {
			t.Fatal(err)
		}
		for _, problem := range unlike(file, want, got) {
			t.Error(problem)
		}
		for _, one := range strings.Fields(path) {
			if kind(at(got, one)) != kind(at(want, one)) {
				t.Errorf("%s: %s is %s and not %s", file, one, kind(at(got, one)), kind(at(want, one)))
			}
		}
	}
}

func at(value any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		o, _ := value.(map[string]any)
		value = o[name]
	}
	return value
}

func kind(value any) string { return fmt.Sprintf("%T", value) }

// unlike returns where got has another type than want. It ignores fields that only one of them has.
func unlike(path string, want, got any) (problems []string) {
	if want == nil || got == nil {
		return nil
	}
	if kind(want) != kind(got) {
		return []string{fmt.Sprintf("%s is %s and not %s", path, kind(got), kind(want))}
	}
	switch want := want.(type) {
	case map[string]any:
		for name, value := range want {
			problems = append(problems, unlike(path+"."+name, value, got.(map[string]any)[name])...)
		}
	case []any:
		if got := got.([]any); len(want) > 0 && len(got) > 0 {
			return unlike(path+"[0]", want[0], got[0])
		}
	}
	return problems
}

func TestSignature(t *testing.T) {
	got := Sign("It's a Secret to Everybody", []byte("Hello, World!"))
	if diff := gocmp.Diff("sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17", got); diff != "" {
		t.Error(diff)
	}
}

// within bounds calls that would hang if the server were wrong.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestTreesAndBlobs(t *testing.T) {
	w := start(t, Config{})
	w.repo.AddCommit(Commit{SHA: sha(1), Files: map[string]File{
		"a/b/c.toml": {Content: "x = 1\n"}, "a/d": {Content: "c.toml", Mode: "120000"}, "e": {Mode: "160000"},
	}})
	w.repo.AddCommit(Commit{SHA: sha(2), Files: Files(map[string]string{"a/b/c.toml": "x = 2\n"})})
	var found []string
	at := sha(1)
	for _, name := range []string{"a", "b", "c.toml"} {
		tree, _, err := w.api.Git.GetTree(t.Context(), "rust-lang", "rust", at, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range tree.Entries {
			found = append(found, e.GetMode()+" "+e.GetType()+" "+e.GetPath())
			if e.GetPath() == name {
				at = e.GetSHA()
			}
		}
	}
	want := []string{"040000 tree a", "160000 commit e", "040000 tree b", "120000 blob d", "100644 blob c.toml"}
	if diff := gocmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
	// As `printf 'x = 1\n' | git hash-object --stdin` prints it.
	if at != "7d4290a117a4ddcc11daae7ea675841033830c8f" {
		t.Errorf("the hash of the file is %s", at)
	}
	data, _, err := w.api.Git.GetBlobRaw(t.Context(), "rust-lang", "rust", at)
	if err != nil || string(data) != "x = 1\n" {
		t.Errorf("%q %v", data, err)
	}
	if _, _, err := w.api.Git.GetTree(t.Context(), "rust-lang", "rust", sha(9), false); err == nil {
		t.Error("a tree that is not there was found")
	}
	if _, _, err := w.api.Git.GetBlobRaw(t.Context(), "rust-lang", "rust", sha(9)); err == nil {
		t.Error("a blob that is not there was found")
	}
}
