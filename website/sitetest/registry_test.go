package sitetest

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website/client"
)

func newKey(t *testing.T) string {
	t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	key, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestAKeyIsRotatedAndACollectorRemoved(t *testing.T) {
	s := open(t, nil)
	s.story()
	key := newKey(t)
	before := s.machines()[0]
	rotated, err := s.client.RotateKey(s.ctx, "amd-0", client.NewKey{NKey: key, Reason: "new disk"})
	if err != nil || rotated.Existed {
		t.Fatalf("%+v %v", rotated, err)
	}
	if again, err := s.client.RotateKey(s.ctx, "amd-0", client.NewKey{NKey: key}); err != nil || !again.Existed {
		t.Errorf("the same key again: %+v %v", again, err)
	}
	var refused *client.Error
	if _, err := s.client.RotateKey(s.ctx, "amd-1", client.NewKey{NKey: "mine"}); !errors.As(err, &refused) || refused.Status != http.StatusBadRequest {
		t.Errorf("a key that is none: %v", err)
	}
	if after := s.machines()[0]; after.NKey != key || !after.KeySince.After(before.KeySince) || !after.RegisteredAt.Equal(before.RegisteredAt) || after.State != before.State {
		t.Errorf("%+v", after)
	}

	removed, err := s.client.RemoveCollector(s.ctx, "spare", "sold")
	if err != nil || removed.Existed {
		t.Fatalf("%+v %v", removed, err)
	}
	if again, err := s.client.RemoveCollector(s.ctx, "spare", ""); err != nil || !again.Existed {
		t.Errorf("removed again: %+v %v", again, err)
	}
	if _, err := s.client.ActivateCollector(s.ctx, "spare"); !errors.As(err, &refused) || refused.Status != http.StatusConflict || !strings.Contains(refused.Message, "unique for ever") {
		t.Errorf("activated: %v", err)
	}
	if list := s.machines(); len(list) != 2 {
		t.Errorf("%d collectors are listed", len(list))
	}
	all, err := s.now().Collectors(s.ctx, true)
	if err != nil || len(all) != 3 || all[2].State != client.CollectorRemoved || all[2].RemovedAt == nil || all[2].Reason != "sold" || all[2].Active {
		t.Fatalf("%+v %v", all, err)
	}
	status, err := s.now().Status(s.ctx)
	if err != nil || len(status.Collectors) != 2 || status.RemovedCollectors != 1 {
		t.Errorf("the status has %d collectors and %d removed ones, %v", len(status.Collectors), status.RemovedCollectors, err)
	}
	for path, want := range map[string]struct {
		spare bool
		says  string
	}{
		"/": {false, "1 collector removed"}, "/collectors": {false, "1 collector removed"}, "/collectors?all=1": {true, "card gone"},
	} {
		resp, page := s.do(http.MethodGet, path, "", nil)
		if shows := strings.Contains(page, `id="spare"`) || strings.Contains(page, "#spare"); resp.StatusCode != http.StatusOK || shows != want.spare || !strings.Contains(page, want.says) {
			t.Errorf("%s: %d, shows it: %v, says %q: %v", path, resp.StatusCode, shows, want.says, strings.Contains(page, want.says))
		}
	}
	// Its history stays.
	if e, err := s.now().Event(s.ctx, removed.Seq-1); err != nil || e.Type != "collector.removed.v1" || e.Subject != events.RegistrySubject("spare") {
		t.Errorf("%+v %v", e, err)
	}
}
