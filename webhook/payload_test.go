package webhook

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
)

// Deliveries that GitHub really sent.
func TestRealPayloads(t *testing.T) {
	for name, v := range map[string]any{
		"issue_comment.created.pull_request.json": &commented{}, "check_suite.completed.success.json": &checked{},
		"push.branch-with-installation.json": &pushed{}, "ping.json": &struct{}{},
	} {
		body, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := parse(body, v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		switch v := v.(type) {
		case *commented:
			if v.Issue.Number != 3 || v.Issue.PullRequest == nil || v.Comment.ID == 0 || v.Comment.User.ID == 0 || v.Repository.FullName == "" || v.Comment.AuthorAssociation != "OWNER" {
				t.Errorf("%+v", v)
			}
		case *checked:
			if v.CheckSuite == nil || v.CheckSuite.Conclusion != "success" || checkSHA(v.CheckSuite.HeadSHA) != nil || v.CheckSuite.HeadBranch == "" {
				t.Errorf("%+v", v)
			}
		case *pushed:
			if !strings.HasPrefix(v.Ref, "refs/heads/") || v.Repository.FullName == "" {
				t.Errorf("%+v", v)
			}
		}
	}
}

func TestPullOf(t *testing.T) {
	for message, want := range map[string]int{
		"Auto merge of #14 - a:b, r=<try>\n\nx": 14, "Rollup merge of #120000 - x": 120000, "Unrolled build for #7": 7, "Try build for #8": 8,
		"Merge pull request #9 from a/b": 9, "Revert \"Auto merge of #14\"": 0, "fix #14": 0, "Auto merge of #0 - a": 0, "": 0,
		"Auto merge of #99999999999999999999": 0,
	} {
		if got, ok := pullOf(message); got != want || ok != (want != 0) {
			t.Errorf("%q: %d, %v", message, got, ok)
		}
	}
}

// For any comment, the result is a commit name, a failure or nothing, in time linear in its length.
func FuzzReadBuild(f *testing.F) {
	f.Add(builtMessage)
	f.Add(`<!-- homu: {"type":"BuildFailed","builder_url":"x"} -->`)
	f.Add(`<!-- {"type":"TryBuildCompleted","merge_sha":"../x"} -->`)
	f.Fuzz(func(t *testing.T, body string) {
		said, ok := readBuild(body)
		if ok && said.finished && checkSHA(said.sha) != nil || !ok && said != (build{}) || ok && !said.finished && said.reason == "" {
			t.Errorf("%q: %+v", body, said)
		}
	})
}

// Any delivery is read or refused, and a user list is numbers.
func FuzzPayloads(f *testing.F) {
	for _, name := range []string{"issue_comment.created.pull_request.json", "check_suite.completed.success.json", "push.branch-with-installation.json"} {
		body, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add([]byte(`{"github_ids":[1,2]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, v := range []any{&commented{}, &checked{}, &pushed{}} {
			if err := parse(body, v); err == nil && !json.Valid(body) {
				t.Error("it is no JSON")
			}
		}
		if ids, err := parseUsers(body); err == nil && ids == nil && !bytes.Contains(body, []byte("null")) {
			t.Error("no list")
		}
		if name := login(string(body)); strings.ContainsAny(name, "@` \n") {
			t.Errorf("login %q", name)
		}
		if id := events.NewDeliveryID(string(body)); events.CheckToken("delivery", string(id)) != nil {
			t.Errorf("delivery %q", id)
		}
	})
}
