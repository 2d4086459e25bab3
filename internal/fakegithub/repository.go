package fakegithub

import (
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strings"
)

// repository is the state of one repository, guarded by the server's mu.
type repository struct {
	id       int64
	fullName string
	owner    *User
	branches map[string]string
	commits  map[string]*commit
	// order counts the commits, so that commits of the same second have an order.
	order  int
	issues map[int]*issue
	// people holds the permission and the association of users, by login.
	people map[string]standing
}

// standing is a user's permission in a repository, and GitHub's word for the user there.
type standing struct{ permission, association string }

// Repository is a repository of a [Server], for the test to change and to look at.
type Repository struct {
	s *Server
	r *repository
}

// Repository returns the repository of that full name, "owner/name". It makes a new one if there is none. Its default
// branch is master, which has no commits at first.
func (s *Server) Repository(fullName string) Repository {
	login, _, _ := strings.Cut(fullName, "/")
	owner := s.addUser(login, "Organization")
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.ToLower(fullName)
	if s.repositories[key] == nil {
		s.repositories[key] = &repository{
			id: s.newID(), fullName: fullName, owner: owner, branches: map[string]string{},
			commits: map[string]*commit{}, issues: map[int]*issue{}, people: map[string]standing{},
		}
	}
	return Repository{s: s, r: s.repositories[key]}
}

// SetStanding sets a user's permission ("admin", "write", "read" or "none") and the association that comments show
// ("OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR" or "NONE").
func (r Repository) SetStanding(u *User, permission, association string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.r.people[u.Login] = standing{permission, association}
}

func (r *repository) standing(u *User) standing {
	if s, known := r.people[u.Login]; known {
		return s
	}
	return standing{"read", "NONE"}
}

func (r *repository) name() string {
	_, name, _ := strings.Cut(r.fullName, "/")
	return name
}

// url returns an address in the API; pieces follow the repository's own address.
func (r *repository) url(pieces string) string {
	return "https://api.github.com/repos/" + r.fullName + pieces
}

// page returns an address for people.
func (r *repository) page(pieces string) string { return "https://github.com/" + r.fullName + pieces }

func (r *repository) shape() object {
	return object{
		"id": r.id, "node_id": node("R_kgDO", r.id), "name": r.name(), "full_name": r.fullName, "private": false, "fork": false,
		"owner": r.owner.shape(), "html_url": r.page(""), "description": nil, "url": r.url(""), "default_branch": "master",
		"commits_url": r.url("/commits{/sha}"), "issues_url": r.url("/issues{/number}"), "pulls_url": r.url("/pulls{/number}"),
		"clone_url": r.page(".git"), "git_url": "git://github.com/" + r.fullName + ".git",
	}
}

func getRepository(c *call) answer { return ok(c.repo.shape()) }

func isCollaborator(c *call) answer {
	if s, known := c.repo.people[c.names["login"]]; known && s.permission != "none" {
		return empty(http.StatusNoContent)
	}
	return notFound()
}

func getPermission(c *call) answer {
	u := c.s.users[c.names["login"]]
	if u == nil {
		return notFound()
	}
	permission := c.repo.standing(u).permission
	return ok(object{"permission": permission, "role_name": permission, "user": u.shape()})
}

// node returns an opaque id in the form of GitHub's GraphQL.
func node(prefix string, id int64) string {
	return prefix + base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, uint64(id)))
}
