package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/githubapi"
)

// Rules say to whom the bot listens, and where.
type Rules struct {
	Repo  events.RepoName
	Suite events.SuiteName
	// Bot is the name that people write after an "@".
	Bot string
	// Self is the account that comments for us. The bot never listens to it. It has a login if GitHub named it.
	// Without credentials GitHub was not asked; then any account with the bot's name counts as the bot too. So even a
	// bot that does not know its account never listens to itself.
	Self githubapi.Account
	// MergeBots are the accounts whose messages about try builds the bot believes.
	MergeBots []int64
	// Associations are GitHub's words for people who may give commands, such as "MEMBER". Users are accounts that may
	// give commands whatever their association.
	Associations []string
	Users        []int64
	// UsersURL names a document with more such accounts: a JSON list of numbers, or an object with such a list under
	// "github_ids". The bot keeps it for an hour, and longer while it cannot be fetched.
	UsersURL string
	// TryBranches are the branches whose check suites and workflow runs report on try builds.
	TryBranches []string
	// Site is the URL of the website, for links.
	Site string
	// Accounts charges requests to the accounts of the people who ask for them.
	Accounts bool
	// WaitingLabel is on a pull request from a command until the report; empty for none.
	WaitingLabel string
}

// itself reports whether an account is the bot's own.
func (r Rules) itself(who account) bool {
	if r.Self.Login != "" {
		return r.Self.Is(who.ID)
	}
	return r.Self.Is(who.ID) || strings.EqualFold(who.Login, r.Bot) || strings.EqualFold(who.Login, r.Bot+"[bot]")
}

// permissions decides who may give commands.
type permissions struct {
	rules  Rules
	client *http.Client
	clock  func() time.Time
	// mu guards users and fetched.
	mu      sync.Mutex
	users   []int64
	fetched time.Time
}

// usersKept is how long fetched accounts are kept before they are fetched again.
const usersKept = time.Hour

// decide reports whether an account may give commands, and why. An error says that this cannot be decided now.
func (p *permissions) decide(ctx context.Context, who account, association string) (allowed bool, why string, err error) {
	if slices.Contains(p.rules.Users, who.ID) {
		return true, "the account is in the list of permitted users", nil
	}
	if slices.Contains(p.rules.Associations, association) {
		return true, fmt.Sprintf("the account is %s of the repository", association), nil
	}
	users, err := p.fetch(ctx)
	if err != nil {
		return false, "", err
	}
	if slices.Contains(users, who.ID) {
		return true, "the account is in the fetched list of permitted users", nil
	}
	return false, fmt.Sprintf("the account is %s of the repository, and in no list of permitted users", association), nil
}

// fetch returns the accounts of UsersURL. While the server does not answer, it returns those that were fetched last.
func (p *permissions) fetch(ctx context.Context) ([]int64, error) {
	if p.rules.UsersURL == "" {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.fetched.IsZero() && p.clock().Sub(p.fetched) < usersKept {
		return p.users, nil
	}
	users, err := fetchUsers(ctx, p.client, p.rules.UsersURL)
	switch {
	case err == nil:
		p.users, p.fetched = users, p.clock()
	case p.fetched.IsZero():
		return nil, fmt.Errorf("the list of permitted users: %w", err)
	}
	return p.users, nil
}

func fetchUsers(ctx context.Context, client *http.Client, url string) ([]int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, answer.Status)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, 4<<20))
	if err != nil {
		return nil, err
	}
	return parseUsers(body)
}

func parseUsers(body []byte) ([]int64, error) {
	var list []int64
	if json.Unmarshal(body, &list) == nil {
		return list, nil
	}
	var object struct {
		IDs []int64 `json:"github_ids"`
	}
	if err := json.Unmarshal(body, &object); err != nil || object.IDs == nil {
		return nil, errors.New("it is neither a JSON list of numbers nor an object with one under \"github_ids\"")
	}
	return object.IDs, nil
}
