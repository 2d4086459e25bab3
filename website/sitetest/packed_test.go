package sitetest

import (
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// encoded asks for a path with headers and returns the answer with its body as it came.
func (s *site) encoded(path, accept, cookie string) (*http.Response, string) {
	s.t.Helper()
	header := map[string]string{"Accept-Encoding": accept}
	if cookie != "" {
		header["Cookie"] = cookie
	}
	return s.do(http.MethodGet, path, "", header)
}

func TestAnswersAreCompressedForWhoAcceptsIt(t *testing.T) {
	s := open(t, nil)
	s.story()
	for path, encoding := range map[string]string{"/api/v1/events?limit=50": "gzip", "/": "gzip", "/openapi.json": "gzip", "/healthz": "", "/static/style.css": ""} {
		plain, text := s.encoded(path, "identity", "")
		if got := plain.Header.Get("Content-Encoding"); got != "" {
			t.Errorf("%s is encoded as %s for who did not ask", path, got)
		}
		packed, body := s.encoded(path, "gzip, deflate, br, zstd", "")
		if got := packed.Header.Get("Content-Encoding"); got != encoding {
			t.Errorf("%s is encoded as %q, want %q", path, got, encoding)
		}
		if got := packed.Header.Get("Content-Length"); got != strconv.Itoa(len(body)) || len(body) > len(text) {
			t.Errorf("%s has a length of %s for %d bytes, and %d plain", path, got, len(body), len(text))
		}
		if encoding == "" {
			continue
		}
		if plain.Header.Get("Vary") != "Accept-Encoding" || packed.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s does not tell caches that it varies", path)
		}
		if plain.Header.Get("Content-Type") != packed.Header.Get("Content-Type") {
			t.Errorf("%s has another type when it is compressed", path)
		}
		unpacked, err := gzip.NewReader(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		// The status tells the time that it took.
		if got, err := io.ReadAll(unpacked); err != nil || path != "/" && string(got) != text {
			t.Errorf("%s, compressed, is another text: %v", path, err)
		}
		if refused, _ := s.encoded(path, "gzip;q=0", ""); refused.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s is compressed for who refuses it", path)
		}
		// The forms of a session have tokens.
		if session, _ := s.encoded(path, "gzip", "tacho_session=x"); session.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s is compressed for a session", path)
		}
	}
}
