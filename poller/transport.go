package poller

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// mostBody is how much of one answer is read; a longer answer is not a list of releases or commits.
	mostBody = 64 << 20
	// mostKept is how many bytes of answers are kept for conditional requests; the oldest are dropped first.
	mostKept = 32 << 20
)

// Transport makes requests conditional and obeys limits. It keeps an answer that has an ETag or a date. If the server
// later says that nothing has changed (304, which costs no rate limit), it returns the kept answer. If a server asks
// for a pause, it sends no requests there until the pause is over. One Transport may serve all pollers.
type Transport struct {
	base  http.RoundTripper
	clock func() time.Time

	mu sync.Mutex
	// kept holds answers by URL and credentials, order their keys from the oldest.
	kept  map[string]answer
	order []string
	bytes int
	// until is when a host accepts requests again.
	until map[string]time.Time
}

// answer is a kept answer.
type answer struct {
	etag, modified string
	header         http.Header
	body           []byte
}

// NewTransport returns a transport that sends its requests through base.
func NewTransport(base http.RoundTripper, clock func() time.Time) *Transport {
	return &Transport{base: base, clock: clock, kept: map[string]answer{}, until: map[string]time.Time{}}
}

// NewClient returns a client for all sources that are reached by HTTP.
func NewClient(t *Transport) *http.Client {
	return &http.Client{Transport: t, Timeout: 2 * time.Minute}
}

// RoundTrip implements http.RoundTripper. It returns a *LimitedError while the host wants no requests.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.limited(r.URL.Host); err != nil {
		return nil, err
	}
	if r.Method != http.MethodGet {
		return t.base.RoundTrip(r)
	}
	key := r.URL.String() + "\n" + r.Header.Get("Authorization") + "\n" + r.Header.Get("Accept")
	known, ok := t.get(key)
	if ok {
		r = r.Clone(r.Context())
		if known.etag != "" {
			r.Header.Set("If-None-Match", known.etag)
		}
		if known.modified != "" {
			r.Header.Set("If-Modified-Since", known.modified)
		}
	}
	response, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if err := t.observe(r.URL.Host, response); err != nil {
		return nil, err
	}
	if ok && response.StatusCode == http.StatusNotModified {
		if err := response.Body.Close(); err != nil {
			return nil, err
		}
		return known.again(r, response), nil
	}
	body, err := readAll(response)
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", r.URL.Host, err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	a := answer{etag: response.Header.Get("Etag"), modified: response.Header.Get("Last-Modified"), header: response.Header.Clone(), body: body}
	if response.StatusCode == http.StatusOK && (a.etag != "" || a.modified != "") {
		t.put(key, a)
	}
	return response, nil
}

// again returns the kept answer as the answer to r. Headers of the new answer replace those of the kept one.
func (a answer) again(r *http.Request, now *http.Response) *http.Response {
	header := a.header.Clone()
	for name, values := range now.Header {
		header[name] = values
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: now.Proto, ProtoMajor: now.ProtoMajor, ProtoMinor: now.ProtoMinor,
		Header: header, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: r,
	}
}

func (t *Transport) get(key string) (answer, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, ok := t.kept[key]
	return a, ok
}

func (t *Transport) put(key string, a answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if was, ok := t.kept[key]; ok {
		t.bytes -= len(was.body)
	} else {
		t.order = append(t.order, key)
	}
	t.kept[key] = a
	t.bytes += len(a.body)
	for t.bytes > mostKept && len(t.order) > 1 {
		t.bytes -= len(t.kept[t.order[0]].body)
		delete(t.kept, t.order[0])
		t.order = t.order[1:]
	}
}

func readAll(r *http.Response) ([]byte, error) {
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, mostBody+1))
	if err == nil && len(body) > mostBody {
		err = fmt.Errorf("it is longer than %d MiB", mostBody>>20)
	}
	return body, err
}

// get returns the body at a URL.
func get(ctx context.Context, c *http.Client, url string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	body, err := readAll(response)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s: the server answers %s", clean(url), response.Status)
	}
	return body, nil
}

// LimitedError says that a server wants no requests before a time.
type LimitedError struct {
	Host  string
	Until time.Time
}

func (e *LimitedError) Error() string {
	return fmt.Sprintf("%s takes no more requests until %s", e.Host, e.Until.UTC().Format(time.RFC3339))
}

func (t *Transport) limited(host string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if until := t.until[host]; t.clock().Before(until) {
		return &LimitedError{Host: host, Until: until}
	}
	return nil
}

// observe learns from an answer how long a host wants no requests. It returns a *LimitedError if the answer is a
// refusal for that reason.
func (t *Transport) observe(host string, r *http.Response) error {
	refused := r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusForbidden || r.StatusCode == http.StatusServiceUnavailable
	pause := t.pause(r, refused)
	if pause == 0 {
		return nil
	}
	e := &LimitedError{Host: host, Until: t.clock().Add(pause)}
	t.mu.Lock()
	t.until[host] = e.Until
	t.mu.Unlock()
	if !refused {
		return nil
	}
	if err := r.Body.Close(); err != nil {
		return err
	}
	return e
}

// The shortest pause after a refusal that does not say how long, and the longest pause that the transport believes.
// GitHub asks for at least a minute; its limits begin anew every hour.
const (
	shortest = time.Minute
	longest  = time.Hour
)

// pause returns how long an answer asks for no more requests; 0 if it does not ask.
func (t *Transport) pause(r *http.Response, refused bool) time.Duration {
	if refused {
		if d, ok := t.retryAfter(r.Header.Get("Retry-After")); ok {
			return min(max(d, time.Second), longest)
		}
	}
	if r.Header.Get("X-Ratelimit-Remaining") == "0" {
		reset, err := strconv.ParseInt(r.Header.Get("X-Ratelimit-Reset"), 10, 64)
		d := time.Unix(reset, 0).Sub(t.clock())
		switch {
		case err == nil && d > 0:
			return min(d, longest)
		case refused:
			return shortest
		}
		return 0
	}
	if r.StatusCode == http.StatusTooManyRequests {
		return shortest
	}
	return 0
}

// retryAfter reads seconds or a date.
func (t *Transport) retryAfter(text string) (time.Duration, bool) {
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 {
		return min(time.Duration(seconds), longest/time.Second) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return at.Sub(t.clock()), true
	}
	return 0, false
}
