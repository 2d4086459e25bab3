package posting

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"

	"github.com/cenkalti/backoff/v4"
)

// mostRedirects bounds the redirects of one post.
const mostRedirects = 5

// RefusedError says that the receiver answered with another status than 2xx.
type RefusedError struct{ Status int }

func (e *RefusedError) Error() string {
	text := fmt.Sprintf("it answers %d %s", e.Status, http.StatusText(e.Status))
	if e.Status >= 300 && e.Status < 400 {
		text += ": only redirects with 307 or 308 to the same host are followed"
	}
	return text
}

// sameReceiver follows a redirect that posts the same again to the same host. Others would turn the post into a GET
// without the event, or show the event to a host that nobody named.
func sameReceiver(req *http.Request, via []*http.Request) error {
	first := via[0]
	if req.Method != first.Method || req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host || len(via) > mostRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// post posts once. Its errors show neither the URL nor what the receiver wrote.
func (l *Line) post(ctx context.Context, p Post) error {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.URL, bytes.NewReader(p.Body))
	if err != nil {
		return backoff.Permanent(errors.New("the URL cannot be used")) // err would show it
	}
	maps.Copy(req.Header, p.Header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", l.Agent)
	resp, err := l.client.Do(req)
	var shown *url.Error
	if errors.As(err, &shown) {
		err = shown.Err // without the URL, which may hold a token
	}
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // lets the connection be used again
	err = resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		err = &RefusedError{resp.StatusCode}
	}
	return err
}
