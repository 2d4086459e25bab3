package fakegithub

import (
	"cmp"
	"crypto/rsa"
	"net/http"
	"slices"
	"strings"
	"time"
)

// app is a GitHub App.
type app struct {
	id   int64
	slug string
	key  *rsa.PublicKey
	// bot is the user as which its installations act.
	bot           *User
	installations []*installation
}

// installation is an App in an account.
type installation struct {
	id  int64
	app *app
	// repositories are the full names of the repositories that it reaches; none means all.
	repositories []string
}

// AddApp registers an App that signs its JWTs with the private half of a key. It returns the user who writes what the
// installations write, slug + "[bot]".
func (s *Server) AddApp(id int64, slug string, key *rsa.PublicKey) *User {
	bot := s.AddBot(slug + "[bot]")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps[id] = &app{id: id, slug: slug, key: key, bot: bot}
	return bot
}

// Install installs an added App and returns the id of the installation. The installation reaches the named
// repositories, or all without names.
func (s *Server) Install(appID int64, repositories ...string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := &installation{id: s.newID(), app: s.apps[appID], repositories: repositories}
	i.app.installations = append(i.app.installations, i)
	return i.id
}

func (a *app) shape() object {
	return object{
		"id": a.id, "slug": a.slug, "node_id": node("A_kwDO", a.id), "name": a.slug, "owner": a.bot.shape(),
		"permissions": object{"issues": "write", "metadata": "read", "pull_requests": "write"}, "events": []string{"issue_comment"},
	}
}

func (i *installation) shape() object {
	selection := "all"
	if len(i.repositories) > 0 {
		selection = "selected"
	}
	return object{"id": i.id, "app_id": i.app.id, "app_slug": i.app.slug, "target_type": "Organization", "repository_selection": selection}
}

func getApp(c *call) answer { return ok(c.actor.app.shape()) }

func listInstallations(c *call) answer {
	return page(c, c.actor.app.installations, (*installation).shape)
}

func getInstallation(c *call) answer {
	for _, i := range c.actor.app.installations {
		if (actor{installation: i}).reaches(c.repo) {
			return ok(i.shape())
		}
	}
	return notFound()
}

func createAccessToken(c *call) answer {
	at := slices.IndexFunc(c.actor.app.installations, func(i *installation) bool { return i.id == c.number("id") })
	if at < 0 {
		return notFound()
	}
	i := c.actor.app.installations[at]
	secret, expires := c.s.issue(i)
	return created(object{
		"token": secret, "expires_at": expires.Format(time.RFC3339), "repository_selection": i.shape()["repository_selection"],
		"permissions": object{"issues": "write", "metadata": "read", "pull_requests": "write"},
	})
}

// User is a person, an organisation or a bot.
type User struct {
	Login string
	ID    int64
	// Type is "User", "Bot" or "Organization".
	Type string
}

// AddUser returns the user of that name. A new user is a person.
func (s *Server) AddUser(login string) *User { return s.addUser(login, "User") }

// AddBot is AddUser for a bot.
func (s *Server) AddBot(login string) *User { return s.addUser(login, "Bot") }

func (s *Server) addUser(login, kind string) *User {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users[login] == nil {
		s.users[login] = &User{Login: login, ID: s.newID(), Type: kind}
	}
	return s.users[login]
}

func (u *User) shape() object {
	return object{
		"login": u.Login, "id": u.ID, "node_id": node("U_kgDO", u.ID), "type": u.Type, "site_admin": false,
		"url": "https://api.github.com/users/" + u.Login, "html_url": "https://github.com/" + u.Login,
		"avatar_url": "https://avatars.githubusercontent.com/u/1?v=4", "gravatar_id": "",
	}
}

func whoAmI(c *call) answer {
	if c.actor.installation != nil {
		return failure(http.StatusForbidden, "Resource not accessible by integration", "https://docs.github.com/rest/users/users#get-the-authenticated-user")
	}
	return ok(c.actor.user.shape())
}

func getUser(c *call) answer {
	for login, u := range c.s.users {
		// GitHub ignores the case of names.
		if strings.EqualFold(login, c.names["login"]) {
			return ok(u.shape())
		}
	}
	return notFound()
}

func getUserByID(c *call) answer {
	for _, u := range c.s.users {
		if u.ID == c.number("id") {
			return ok(u.shape())
		}
	}
	return notFound()
}

// byID orders by id, the oldest first.
func byID[T any](id func(T) int64) func(T, T) int {
	return func(a, b T) int { return cmp.Compare(id(a), id(b)) }
}
