package website

import (
	"bytes"
	"net/http"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

// parcel is a response that is kept.
type parcel struct {
	bytes.Buffer
	header http.Header
}

func (p *parcel) Header() http.Header { return p.header }
func (p *parcel) WriteHeader(int)     {}

// packer returns what answers by a handler with its text compressed by gzip, where that is worth it and the request accepts it.
func packer() func(http.Handler) http.HandlerFunc {
	pack, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false), gzhttp.CompressionLevel(gzip.BestSpeed))
	if err != nil {
		panic("website: " + err.Error()) // the options are fixed, and allowed
	}
	return pack
}

// packed returns a text as it is sent, and the headers that say how. All of it is compressed before it is sent, so a slow reader holds
// no compressor. The size of a compressed page tells strangers what it has in common with their guesses, so answers that may hold
// a secret stay as they are: those of writes, as a new token, and those of sessions, whose forms have tokens.
func (s *Server) packed(r *http.Request, contentType string, text []byte) ([]byte, http.Header) {
	p := parcel{header: http.Header{"Content-Type": {contentType}}}
	if r.Method != http.MethodGet || r.Header.Get("Cookie") != "" {
		return text, p.header
	}
	s.pack(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) })).ServeHTTP(&p, r) // p takes all
	return p.Bytes(), p.header
}
