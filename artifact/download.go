package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/checksum"
)

func newClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = time.Minute
	return &http.Client{Transport: t}
}

// send sends a request and returns the server's answer, whatever its status.
func (s *Store) send(ctx context.Context, method, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, &RefusedError{What: url, Reason: "not a URL: correct the suite file: " + err.Error()}
	}
	req.Header.Set("User-Agent", "tacho")
	// Ask for the bytes as they are stored: the checksums are of these.
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := s.Client.Do(req)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return resp, err
}

// request sends a request and returns the response if it is a success. Otherwise the error tells whether another try
// may help.
func (s *Store) request(ctx context.Context, method, url string) (*http.Response, error) {
	resp, err := s.send(ctx, method, url)
	if err != nil {
		return nil, err
	}
	if err := statusError(method, url, resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

func statusError(method, url string, resp *http.Response) error {
	switch code := resp.StatusCode; {
	case code == http.StatusOK:
		return nil
	case code == http.StatusNotFound || code == http.StatusGone:
		return &NotThereError{What: url, Tried: []string{url}}
	case code == http.StatusRequestTimeout || code == http.StatusTooEarly || code == http.StatusTooManyRequests, code >= 500:
		return fmt.Errorf("%s %s: the server answers %s", method, url, resp.Status)
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return &RefusedError{What: url, Reason: fmt.Sprintf("the server answers %s: give this machine access, or correct the suite's [artifact]", resp.Status)}
	}
	return &RefusedError{What: url, Reason: fmt.Sprintf("the server answers %s, which is no download", resp.Status)}
}

// head asks whether a URL can be downloaded.
func (s *Store) head(ctx context.Context, url string) error {
	ctx, watch := watched(ctx, s.Stall, url)
	defer watch.stop()
	resp, err := s.send(ctx, http.MethodHead, url)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed && resp.StatusCode != http.StatusNotImplemented {
		return statusError(http.MethodHead, url, resp)
	}
	if resp, err = s.request(ctx, http.MethodGet, url); err != nil {
		return err
	}
	return resp.Body.Close()
}

// progressEvery is how often a long download reports its progress.
const progressEvery = 5 * time.Second

// transfer is the body of a download. It counts and hashes the bytes and remembers how it ended.
type transfer struct {
	body  io.Reader
	watch *watch
	sum   hash.Hash
	n     int64
	// told is called with n, at most once per progressEvery.
	told func(n int64)
	next time.Time
	// err is the reason why the transfer ended early; io.EOF if it did not.
	err error
}

func (t *transfer) Read(p []byte) (int, error) {
	t.watch.resume()
	n, err := t.body.Read(p)
	t.watch.pause()
	t.sum.Write(p[:n])
	t.n += int64(n)
	if now := time.Now(); now.After(t.next) {
		t.next = now.Add(progressEvery)
		t.told(t.n)
	}
	if err != nil {
		t.err = err
	}
	return n, err
}

// download fetches a URL for what and passes its bytes to use as they come. Keep what use wrote only if there is no
// error: then all bytes have come, and they match the server's checksum if it publishes one.
func (s *Store) download(ctx context.Context, url, what string, use func(name string, t *transfer) error) (part, error) {
	ctx, watch := watched(ctx, s.Stall, url)
	defer watch.stop()
	resp, err := s.request(ctx, http.MethodGet, url)
	if err != nil {
		return part{}, err
	}
	defer resp.Body.Close()
	watch.pause()
	t := &transfer{body: resp.Body, watch: watch, sum: sha256.New(), next: time.Now().Add(progressEvery), told: func(n int64) {
		of := ""
		if resp.ContentLength > 0 {
			of = " of " + size(resp.ContentLength)
		}
		s.Progress(fmt.Sprintf("%s: downloaded %s%s of %s", what, size(n), of, url))
	}}
	name, _, _ := strings.Cut(url, "?")
	err = use(name, t)
	if err == nil {
		// Read the padding that may follow an archive.
		_, err = io.Copy(io.Discard, t)
	}
	if err != nil {
		return part{}, t.explain(ctx, url, err)
	}
	p := part{From: url, SHA256: events.Digest(hex.EncodeToString(t.sum.Sum(nil))), Bytes: t.n}
	watch.resume()
	want, err := s.publishedSum(ctx, url)
	if err != nil {
		return part{}, err
	}
	if want != "" && want != p.SHA256 {
		return part{}, &RefusedError{What: url, Reason: fmt.Sprintf("its SHA-256 is %s, and the server says %s: the file is damaged or was replaced", p.SHA256, want)}
	}
	p.Verified = want != ""
	return p, nil
}

// explain tells an interrupted transfer, which is worth another try, from content that cannot be used.
func (t *transfer) explain(ctx context.Context, url string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if t.err != nil && !errors.Is(t.err, io.EOF) {
		return fmt.Errorf("download %s: broken off after %s: %w", url, size(t.n), t.err)
	}
	var full *NoSpaceError
	switch {
	case errors.As(err, &full):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("download %s: the archive ends too early, after %s", url, size(t.n))
	}
	return named(url, err)
}

// publishedSum returns the checksum that the server publishes beside the file, in the form of sha256sum; "" if it has
// none.
func (s *Store) publishedSum(ctx context.Context, url string) (events.Digest, error) {
	name := checksum.URL(url)
	resp, err := s.request(ctx, http.MethodGet, name)
	if Permanent(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	sum, err := checksum.Read(resp.Body)
	if err != nil {
		return "", fmt.Errorf("download %s: %w", name, err)
	}
	return events.Digest(sum), nil
}

// watch ends a context when the network has brought no byte for too long. It is paused while the data goes to disk.
type watch struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration
}

func watched(ctx context.Context, limit time.Duration, url string) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() {
		cancel(fmt.Errorf("download %s: nothing has come for %v", url, limit))
	})
	return ctx, &watch{cancel, timer, limit}
}

func (w *watch) resume() { w.timer.Reset(w.limit) }
func (w *watch) pause()  { w.timer.Stop() }

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}
