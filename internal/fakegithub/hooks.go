package fakegithub

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// firstDelivery is far above the numbers that a float64 holds exactly, as the ids of GitHub's deliveries are.
const firstDelivery = 170_000_000_000_000_000

// Hook says where deliveries are sent.
type Hook struct {
	URL string
	// Secret signs the deliveries; empty leaves them without a signature.
	Secret string
	// Events are the events to deliver; none means all.
	Events []string
	// App is the App that the hook belongs to; 0 for a repository's hook.
	App int64
}

// HookHandle gives a test access to a hook of a [Server].
type HookHandle struct {
	s *Server
	h *hook
}

type hook struct {
	Hook
	id int64
	// repository is nil for an App's hook, which gets events of all repositories.
	repository *repository
	// losing is how many of the next deliveries never leave GitHub.
	losing     int
	deliveries []*Delivery
}

// Delivery is one try to deliver an event.
type Delivery struct {
	ID int64
	// GUID is the X-GitHub-Delivery of the request. A redelivery has the GUID of the first try.
	GUID          string
	Event, Action string
	Payload       []byte
	At            time.Time
	Redelivery    bool
	// StatusCode is the status of the answer; 0 if there is none, or none yet. Status says it in words.
	StatusCode int
	Status     string

	repository *repository
	lost       bool
	done       chan struct{}
}

// Delivered reports whether the receiver accepted the delivery.
func (d Delivery) Delivered() bool { return 200 <= d.StatusCode && d.StatusCode < 300 }

// AddHook adds a hook to the repository.
func (r Repository) AddHook(h Hook) HookHandle { return r.s.addHook(h, r.r) }

// AddAppHook adds the hook of an App, which gets events of every repository.
func (s *Server) AddAppHook(h Hook) HookHandle { return s.addHook(h, nil) }

func (s *Server) addHook(h Hook, r *repository) HookHandle {
	s.mu.Lock()
	defer s.mu.Unlock()
	added := &hook{Hook: h, id: s.newID(), repository: r}
	s.hooks[added.id] = added
	return HookHandle{s: s, h: added}
}

// ID returns the hook's id in the API.
func (h HookHandle) ID() int64 { return h.h.id }

// Lose makes GitHub not send the next deliveries and record that they failed.
func (h HookHandle) Lose(next int) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.h.losing = next
}

// Deliveries returns the tries so far, oldest first.
func (h HookHandle) Deliveries() (all []Delivery) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	for _, d := range h.h.deliveries {
		all = append(all, *d)
	}
	return all
}

// Send delivers a payload that the test makes itself, and returns when it is answered.
func (h HookHandle) Send(event string, payload []byte) Delivery {
	var said struct{ Action string }
	_ = json.Unmarshal(payload, &said) // a payload that is not JSON has no action
	h.s.mu.Lock()
	d := h.s.newDelivery(h.h, event, said.Action, payload, "")
	h.s.mu.Unlock()
	return h.deliver(d)
}

// Redeliver sends an earlier delivery once more, under the same GUID, and returns when it is answered.
func (h HookHandle) Redeliver(id int64) Delivery {
	h.s.mu.Lock()
	before := h.h.delivery(id)
	if before == nil {
		h.s.mu.Unlock()
		panic("fake GitHub: there is no delivery " + strconv.FormatInt(id, 10))
	}
	d := h.s.newDelivery(h.h, before.Event, before.Action, before.Payload, before.GUID)
	h.s.mu.Unlock()
	return h.deliver(d)
}

func (h HookHandle) deliver(d *Delivery) Delivery {
	h.s.send(h.h, d)
	<-d.done
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	return *d
}

func (h *hook) delivery(id int64) *Delivery {
	if i := slices.IndexFunc(h.deliveries, func(d *Delivery) bool { return d.ID == id }); i >= 0 {
		return h.deliveries[i]
	}
	return nil
}

// newDelivery records a try; guid is empty for a first one. The caller holds mu, and sends the delivery afterwards.
func (s *Server) newDelivery(h *hook, event, action string, payload []byte, guid string) *Delivery {
	id := s.newID()
	d := &Delivery{
		ID: firstDelivery + id, GUID: guid, Event: event, Action: action, Payload: payload, At: s.now(), Redelivery: guid != "",
		Status: "pending", repository: h.repository, done: make(chan struct{}),
	}
	if guid == "" {
		d.GUID = fmt.Sprintf("%08x-0000-11f0-8000-%012x", h.id, id)
	}
	if h.losing > 0 {
		h.losing--
		d.lost = true
	}
	h.deliveries = append(h.deliveries, d)
	return d
}

// announce records an event for every hook that gets it. tell sends the deliveries and does not wait. The caller
// holds mu, and calls tell without it.
func (s *Server) announce(r *repository, event, action string, sender *User, about object) (tell func()) {
	body := object{"repository": r.shape(), "organization": r.owner.shape(), "sender": sender.shape()}
	if action != "" {
		body["action"] = action
	}
	for name, value := range about {
		body[name] = value
	}
	var all []func()
	hooks := slices.SortedFunc(maps.Values(s.hooks), byID(func(h *hook) int64 { return h.id }))
	for _, h := range hooks {
		if h.repository != nil && h.repository != r || len(h.Events) > 0 && !slices.Contains(h.Events, event) {
			continue
		}
		if i := s.installationIn(h.App, r); i != nil {
			body["installation"] = object{"id": i.id, "node_id": node("MDIzOkludGVncmF0aW9u", i.id)}
		}
		d := s.newDelivery(h, event, action, bytes.TrimSpace(encode(body)), "")
		d.repository = r
		delete(body, "installation")
		all = append(all, func() { s.send(h, d) })
	}
	return func() {
		for _, send := range all {
			send()
		}
	}
}

func (s *Server) installationIn(appID int64, r *repository) *installation {
	if a := s.apps[appID]; a != nil {
		for _, i := range a.installations {
			if (actor{installation: i}).reaches(r) {
				return i
			}
		}
	}
	return nil
}

// send begins to send a delivery. After the server was closed it sends nothing.
func (s *Server) send(h *hook, d *Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		close(d.done)
		return
	}
	s.tasks.Go(func() {
		defer close(d.done)
		code, status := s.post(h, d)
		s.mu.Lock()
		defer s.mu.Unlock()
		d.StatusCode, d.Status = code, status
	})
}

// post makes the request of a delivery. It returns what GitHub records about the answer.
func (s *Server) post(h *hook, d *Delivery) (code int, status string) {
	if d.lost {
		return http.StatusBadGateway, "Bad Gateway"
	}
	ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(d.Payload))
	if err != nil {
		return 0, "invalid url"
	}
	for name, value := range h.headers(d) {
		request.Header.Set(name, value)
	}
	response, err := s.webhooks.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return http.StatusGatewayTimeout, "timed out"
		}
		return http.StatusBadGateway, "failed to connect to host"
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxBody)) // only the status counts
	if response.StatusCode < 300 {
		return response.StatusCode, "OK"
	}
	return response.StatusCode, "Invalid HTTP Response: " + strconv.Itoa(response.StatusCode)
}

// headers returns the headers of a delivery.
func (h *hook) headers(d *Delivery) map[string]string {
	headers := map[string]string{
		"Content-Type": "application/json", "User-Agent": "GitHub-Hookshot/fa4e000", "X-GitHub-Event": d.Event, "X-GitHub-Delivery": d.GUID,
		"X-GitHub-Hook-ID": strconv.FormatInt(h.id, 10), "X-GitHub-Hook-Installation-Target-Type": "repository",
	}
	if h.repository == nil {
		headers["X-GitHub-Hook-Installation-Target-Type"] = "integration"
		headers["X-GitHub-Hook-Installation-Target-ID"] = strconv.FormatInt(h.App, 10)
	} else {
		headers["X-GitHub-Hook-Installation-Target-ID"] = strconv.FormatInt(h.repository.id, 10)
	}
	if h.Secret != "" {
		headers["X-Hub-Signature-256"] = Sign(h.Secret, d.Payload)
	}
	return headers
}

// Sign returns the X-Hub-Signature-256 of a payload.
func Sign(secret string, payload []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(payload)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}
