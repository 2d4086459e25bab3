package poller

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

func TestAPushIsToldToThePollersOfItsBranch(t *testing.T) {
	var looked []string
	branch := func(repository events.RepoName, name string) Branch {
		return Branch{Repository: repository, Name: name, Look: func() { looked = append(looked, string(repository)+"@"+name) }}
	}
	p := Pushes{Branches: []Branch{branch("", ""), branch("a/b", "main"), branch("a/b", "beta"), branch("c/d", "main")}}
	push := func(repository events.RepoName, branch string) events.Fact {
		return events.DeliveryHandled{Repo: repository, Command: events.PushWord + branch}
	}
	for _, c := range []struct {
		name string
		fact events.Fact
		want []string
	}{
		{"a push", push("a/b", "main"), []string{"@", "a/b@main"}},
		{"a branch that nobody polls", push("e/f", "main"), []string{"@"}},
		{"another command", events.DeliveryHandled{Repo: "a/b", Command: "queue"}, nil},
		{"another fact", events.RequestCreated{}, nil},
	} {
		looked = nil
		p.take(c.fact)
		if diff := cmp.Diff(c.want, looked); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
