package sitetest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

func TestTheOperatorAddsMachines(t *testing.T) {
	s := open(t, nil)
	s.published()
	n := control.NewMachine{Name: "eider-3", Pool: "linux", OS: "linux", Arch: "amd64", Slots: 2}
	made, err := s.client.AddMachine(s.ctx, n)
	if err != nil || made.Existed || len(made.Collectors) != 2 || made.Collectors[1] != (control.SlotCollector{Name: "eider-3-2", Lane: events.PoolLane("linux", 1)}) {
		t.Fatalf("%+v %v", made, err)
	}
	if again, err := s.client.AddMachine(s.ctx, n); err != nil || !again.Existed || len(again.Collectors) != 2 {
		t.Errorf("%+v %v", again, err)
	}
	n.CPUs = new(4)
	_, err = s.client.AddMachine(s.ctx, n)
	wantStatus(t, err, http.StatusConflict, "tacho machine set eider-3")
	for _, existed := range []bool{false, true} {
		if answer, err := s.client.SetMachine(s.ctx, "eider-3", control.MachineChange{CPUs: new(4), Traits: &[]string{"nvme"}}); err != nil || answer.Existed != existed {
			t.Errorf("%+v %v", answer, err)
		}
	}
	_, err = s.client.RemoveMachine(s.ctx, "eider-3", "sold")
	wantStatus(t, err, http.StatusConflict, "eider-3-1, eider-3-2")

	alice, _ := s.account("alice", control.AccountChange{})
	before := s.head()
	for what, do := range map[string]func() error{
		"add":    func() error { _, err := alice.AddMachine(s.ctx, n); return err },
		"set":    func() error { _, err := alice.SetMachine(s.ctx, "eider-3", control.MachineChange{}); return err },
		"remove": func() error { _, err := alice.RemoveMachine(s.ctx, "eider-3", ""); return err },
	} {
		t.Run(what, func(t *testing.T) { wantStatus(t, do(), http.StatusForbidden, "ask the operator") })
	}
	const machines = "/api/v1/machines"
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		says               string
	}{
		"an unknown field":  {"POST", machines, `{"name":"a","memory":"8g"}`, 400, `unknown field "memory"`},
		"no pool":           {"POST", machines, `{"name":"a","os":"linux","arch":"amd64"}`, 400, `pool ""`},
		"no number":         {"POST", machines, `{"name":"a","slots":"two"}`, 400, `field "slots" cannot be a string`},
		"another pool":      {"PUT", machines + "/eider-3", `{"pool":"mac"}`, 400, "never change: remove the machine, and add it under another name"},
		"no memory":         {"PUT", machines + "/eider-3", `{"memory_mib":0}`, 400, "memory_mib 0: use a number from 1"},
		"no machine":        {"PUT", machines + "/auk", `{}`, 404, "there is no machine auk"},
		"no such parameter": {"DELETE", machines + "/eider-3?why=x", ``, 400, `unknown parameter "why"`},
		"a wrong term":      {"POST", "/api/v1/requests", `{"suite":"go","kind":"master","tag":"x","requires":["memory=8q"]}`, 400, "write memory=8 or memory=8g"},
		"nothing matched":   {"POST", "/api/v1/requests", `{"suite":"go","kind":"master","tag":"x","requires":["memory=8g"]}`, 400, `no kind with lanes`},
		"a line of several": {"POST", "/api/v1/requests/batch", `{"requests":[{"suite":"go","kind":"master","tag":"x"},{"suite":"go","kind":"master","tag":"y","requires":["cpus=0"]}]}`, 400, "line 2: requires: term"},
		"terms of a queue":  {"PUT", "/api/v1/queues/bisect", `{"requires":["machine=a","machine=b"]}`, 422, "they exclude one another"},
		"one of its lanes":  {"POST", "/api/v1/collectors", `{"name":"x","target":"pool_linux"}`, 400, "tacho machine add"},
	} {
		t.Run(name, func(t *testing.T) {
			resp, body := s.do(c.method, c.path, c.body, permitted())
			e := refusal(t, body)
			if said := e.Message + ": " + e.Next; resp.StatusCode != c.status || !strings.Contains(said, c.says) {
				t.Errorf("%d, want %d with %q: %s", resp.StatusCode, c.status, c.says, body)
			}
		})
	}
	if s.head() != before {
		t.Error("something was recorded")
	}
	for _, name := range []events.CollectorName{"eider-3-1", "eider-3-2"} {
		if _, err := s.client.RemoveCollector(s.ctx, name, ""); err != nil {
			t.Fatal(err)
		}
	}
	if answer, err := s.client.RemoveMachine(s.ctx, "eider-3", "sold"); err != nil || answer.Existed {
		t.Errorf("%+v %v", answer, err)
	}
}

func TestARequestThatNoMachineCanRun(t *testing.T) {
	s := open(t, nil)
	s.suite.Kinds = append(s.suite.Kinds, suite.Kind{Name: "build", Lanes: suite.LanesAny, Requires: []string{"memory=16g"}, Shared: true})
	s.published()
	ask := func(tag events.Tag, terms ...string) error {
		_, err := s.client.CreateRequest(s.ctx, control.NewRequest{Suite: "go", Kind: events.Master, Tag: tag, Requires: terms})
		return err
	}
	wantStatus(t, ask("c1"), http.StatusUnprocessableEntity, "none is registered for matched jobs")
	n := control.NewMachine{Name: "eider-3", Pool: "linux", OS: "linux", Arch: "amd64"}
	n.MemoryMiB = new(int64(32 << 10))
	if _, err := s.client.AddMachine(s.ctx, n); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, ask("c1", "memory=40", "trait=nvme"), http.StatusUnprocessableEntity,
		"no machine can run build/linux-amd64/0: eider-3 comes nearest, it lacks trait nvme and 8 GiB of memory")
	wantStatus(t, ask("c1", "os=darwin"), http.StatusUnprocessableEntity, "os=linux (kind build) and os=darwin (the request): they exclude one another")
	if err := ask("c1", "memory=20g"); err != nil {
		t.Error(err)
	}
	if _, err := s.client.SetMachine(s.ctx, "eider-3", control.MachineChange{MemoryMiB: new(int64(48 << 10)), Traits: &[]string{"nvme"}}); err != nil {
		t.Fatal(err)
	}
	if err := ask("c2", "memory=40", "trait=nvme"); err != nil {
		t.Error(err)
	}
	if _, err := s.client.DeactivateCollector(s.ctx, "eider-3", control.Deactivation{}); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, ask("c3"), http.StatusUnprocessableEntity, "none is registered for matched jobs")
	if err := ask("c1", "memory=20g"); err != nil {
		t.Errorf("it is there already: %v", err)
	}
}
