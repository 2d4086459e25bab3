package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tachobench/tacho/events"
)

// The fields of deliveries that the webhook reads. The tags hold GitHub's names.

type account struct {
	Login string `json:"login"`
	ID    int64  `json:"id"`
	// Type is "Bot" for the account of a GitHub App.
	Type string `json:"type"`
}

type repository struct {
	FullName      events.RepoName `json:"full_name"`
	DefaultBranch string          `json:"default_branch"`
}

// commented is the event issue_comment.
type commented struct {
	Action string `json:"action"`
	Issue  struct {
		Number int `json:"number"`
		// PullRequest is set if the issue is a pull request.
		PullRequest *struct{} `json:"pull_request"`
	} `json:"issue"`
	Comment struct {
		ID                int64   `json:"id"`
		Body              string  `json:"body"`
		User              account `json:"user"`
		AuthorAssociation string  `json:"author_association"`
	} `json:"comment"`
	Repository repository `json:"repository"`
	Sender     account    `json:"sender"`
}

// checked is the event check_suite or workflow_run: how the builds of a commit ended.
type checked struct {
	Action      string     `json:"action"`
	CheckSuite  *run       `json:"check_suite"`
	WorkflowRun *run       `json:"workflow_run"`
	Repository  repository `json:"repository"`
	Sender      account    `json:"sender"`
}

type run struct {
	HeadBranch string     `json:"head_branch"`
	HeadSHA    events.Tag `json:"head_sha"`
	Conclusion string     `json:"conclusion"`
	HTMLURL    string     `json:"html_url"`
}

// pushed is the payload of the event push.
type pushed struct {
	Ref        string     `json:"ref"`
	Repository repository `json:"repository"`
	Sender     account    `json:"sender"`
}

// parse reads a delivery's body as JSON of the form of v.
func parse(body []byte, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("its payload cannot be read: %w", err)
	}
	return nil
}

// build is what a merge bot says about a try build.
type build struct {
	finished bool
	// sha is the merge commit that was built; empty if the message does not name it.
	sha events.Tag
	// reason says why a build failed; url is its log.
	reason, url string
}

// hidden matches an HTML comment that holds a JSON object; merge bots write them for programs. Homu begins it with
// its name.
var hidden = regexp.MustCompile(`(?s)<!--\s*(?:homu:)?\s*(\{.*?\})\s*-->`)

// maxMessage is how long a message may be to be read.
const maxMessage = 256 << 10

// readBuild returns what a comment says about a try build; false when it says nothing about one. The bot believes it
// only from the merge bot.
func readBuild(body string) (build, bool) {
	if len(body) > maxMessage {
		return build{}, false
	}
	for _, found := range hidden.FindAllStringSubmatch(body, -1) {
		var said struct {
			Type       string     `json:"type"`
			MergeSHA   events.Tag `json:"merge_sha"`
			BuilderURL string     `json:"builder_url"`
		}
		if json.Unmarshal([]byte(found[1]), &said) != nil {
			continue
		}
		switch said.Type {
		case "TryBuildCompleted":
			if checkSHA(said.MergeSHA) == nil {
				return build{finished: true, sha: said.MergeSHA}, true
			}
		case "TryBuildFailed", "BuildFailed":
			return build{sha: said.MergeSHA, reason: "the try build failed", url: said.BuilderURL}, true
		case "BuildTimedOut", "TimedOut":
			return build{sha: said.MergeSHA, reason: "the try build took too long", url: said.BuilderURL}, true
		}
	}
	return build{}, false
}

// shaPattern matches a full commit name, of SHA-1 or SHA-256.
var shaPattern = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

func checkSHA(t events.Tag) error {
	if !shaPattern.MatchString(string(t)) {
		return errors.New("it is no full commit name")
	}
	return nil
}

// mergeOf matches the first line of commits that merge bots and GitHub make of a pull request.
var mergeOf = regexp.MustCompile(`(?i)^(?:auto merge of|rollup merge of|unrolled build for|try build for|merge pull request)\s+(?:pr\s+)?#([1-9][0-9]{0,8})\b`)

// pullOf returns the pull request whose merge a commit message describes.
func pullOf(message string) (int, bool) {
	line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	found := mergeOf.FindStringSubmatch(line)
	if found == nil {
		return 0, false
	}
	n, err := strconv.Atoi(found[1])
	return n, err == nil
}
