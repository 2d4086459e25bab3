package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
)

// apiPath is the beginning of every path of the API.
const apiPath = "/api/v1/"

// ActorHeader is the header of a write that names the caller, such as "cli:alice".
const ActorHeader = "Tacho-Actor"

// Client calls one Tacho. Its methods are safe for concurrent use.
type Client struct {
	// HTTP carries the calls; New sets http.DefaultClient, Secure another one. It must have no timeout for a whole call,
	// because streams last; bound calls by their contexts.
	HTTP *http.Client
	// Actor is the caller, recorded with each write; if it is empty, the server chooses one.
	Actor events.Actor
	// Waits is called with each error after which a stream is resumed, and with the pause before that; it may be nil.
	Waits func(err error, pause time.Duration)

	base    *url.URL
	token   string
	waitFor events.Seq
}

// New returns a client of the Tacho at baseURL ("http://127.0.0.1:8080"; "host:port" is understood). The
// token is sent with writes only and may be empty for reading.
func New(baseURL, token string) (*Client, error) {
	text := baseURL
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	base, err := url.Parse(text)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("server URL %q: use the form http://host:port", baseURL)
	}
	base.Path = strings.TrimRight(base.Path, "/")
	return &Client{HTTP: http.DefaultClient, base: base, token: token}, nil
}

// Secure makes the client check the server's certificate as conf says.
func (c *Client) Secure(conf *tls.Config) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = conf
	c.HTTP = &http.Client{Transport: t}
}

// URL returns the address of a page or path of the server, such as "/requests/r1".
func (c *Client) URL(path string) string { return c.base.JoinPath(path).String() }

// After returns a client whose reads wait until the tables hold the event seq, which is the answer of a write.
func (c *Client) After(seq events.Seq) *Client {
	later := *c
	later.waitFor = seq
	return &later
}

// call sends one request and returns the answer. The caller closes its body.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	u := c.base.JoinPath(apiPath, path)
	if query == nil {
		query = url.Values{}
	}
	if method == http.MethodGet && c.waitFor > 0 {
		query.Set("wait_for", strconv.FormatUint(uint64(c.waitFor), 10))
	}
	u.RawQuery = query.Encode()
	var sent io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		sent = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), sent)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if method != http.MethodGet {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+c.token)
		if c.Actor != "" {
			req.Header.Set(ActorHeader, string(c.Actor))
		}
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, context.Cause(ctx))
		}
		return nil, c.unreachable(err)
	}
	if resp.Request.Method != method {
		resp.Body.Close()
		return nil, c.redirected(resp)
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, c.refused(resp)
	}
	return resp, nil
}

// ask calls and reads the JSON of the answer.
func ask[T any](ctx context.Context, c *Client, method, path string, query url.Values, body any) (T, error) {
	resp, err := c.call(ctx, method, path, query, body)
	if err != nil {
		var none T
		return none, err
	}
	return read[T](ctx, method, path, resp)
}

// read reads the JSON of an answer and closes its body.
func read[T any](ctx context.Context, method, path string, resp *http.Response) (T, error) {
	defer resp.Body.Close()
	var out T
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return out, fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	return out, nil
}

func get[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	return ask[T](ctx, c, http.MethodGet, path, query, nil)
}

// getAll reads a list page by page. A server that knows no pages answers with all of it.
func getAll[T any](ctx context.Context, c *Client, path string, query url.Values) ([]T, error) {
	list := []T{}
	for {
		resp, err := c.call(ctx, http.MethodGet, path, query, nil)
		if err != nil {
			return nil, err
		}
		part, err := read[[]T](ctx, http.MethodGet, path, resp)
		if err != nil {
			return nil, err
		}
		list = append(list, part...)
		if query, err = nextPage(resp.Header); err != nil {
			return nil, fmt.Errorf("GET %s: %w", path, err)
		}
		if query == nil {
			return list, nil
		}
	}
}

// nextPage returns the query of the page that the header Link names as the next one; nil if there is none.
func nextPage(h http.Header) (url.Values, error) {
	address, rel, _ := strings.Cut(h.Get("Link"), ">;")
	if strings.TrimSpace(rel) != `rel="next"` {
		return nil, nil
	}
	u, err := url.Parse(strings.TrimPrefix(address, "<"))
	if err != nil {
		return nil, fmt.Errorf("the header Link: %w", err)
	}
	return u.Query(), nil
}

// copyText calls and copies the body of the answer to w as it comes. It returns the trailers.
func (c *Client) copyText(ctx context.Context, path string, query url.Values, w io.Writer) (http.Header, error) {
	resp, err := c.call(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(w, resp.Body); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("GET %s: %w", path, err)
	}
	return resp.Trailer, nil
}

// set adds a parameter unless its value is empty, 0 or false.
func set[T ~string | ~int | ~uint64 | ~bool](query url.Values, name string, value T) {
	var none T
	if value != none {
		query.Set(name, fmt.Sprint(value))
	}
}
