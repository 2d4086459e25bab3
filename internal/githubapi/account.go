package githubapi

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/google/go-github/v62/github"
)

// Account is an account of GitHub. The zero value is no account.
type Account struct {
	// ID is GitHub's number of the account. The login may change, the number never does.
	ID    int64
	Login string
}

// Is reports whether the account has this number. The zero account has none.
func (a Account) Is(id int64) bool { return a.ID != 0 && a.ID == id }

// String returns the login and the number.
func (a Account) String() string { return fmt.Sprintf("%s (account %d)", a.Login, a.ID) }

// Self asks GitHub which account the client writes as: the user of the token, or the bot of the App. An
// installation's token has no user, so GitHub refuses to answer it; only the App itself can ask.
func (c *Client) Self(ctx context.Context) (Account, error) {
	ctx, cancel := c.within(ctx)
	defer cancel()
	switch {
	case c.app != nil:
		return c.bot(ctx)
	case !c.may:
		return Account{}, &Error{Kind: Unauthorized, Call: "ask who we are", Err: errors.New("there are no credentials")}
	}
	const call = "ask for the account of the token"
	user, _, err := c.api.Users.Get(ctx, "")
	if err != nil {
		return Account{}, explain(call, err)
	}
	return accountOf(call, user)
}

// bot returns the account that the App writes as. GitHub tells the App its name. The number belongs to the account of
// that name; the client asks for it as the installation, which proves that the installation exists.
func (c *Client) bot(ctx context.Context) (Account, error) {
	call := "ask for the name of the App"
	app, _, err := c.app.Apps.Get(ctx, "")
	if err != nil {
		return Account{}, explain(call, err)
	}
	if app.GetSlug() == "" {
		return Account{}, notTheAnswer(call)
	}
	login := app.GetSlug() + "[bot]"
	call = "read the account " + login
	user, _, err := c.api.Users.Get(ctx, url.PathEscape(login))
	if err != nil {
		return Account{}, explain(call, err)
	}
	if !strings.EqualFold(user.GetLogin(), login) {
		return Account{}, notTheAnswer(call)
	}
	return accountOf(call, user)
}

func accountOf(call string, user *github.User) (Account, error) {
	a := Account{ID: user.GetID(), Login: user.GetLogin()}
	if a.ID <= 0 || a.Login == "" {
		return Account{}, notTheAnswer(call)
	}
	return a, nil
}
