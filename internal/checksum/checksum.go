// Package checksum finds the SHA-256 that a server publishes beside a file, in the form of sha256sum.
package checksum

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
)

// URL returns the URL of the checksum of a file: the file's URL with ".sha256".
func URL(file string) string {
	place, query, _ := strings.Cut(file, "?")
	if query != "" {
		query = "?" + query
	}
	return place + ".sha256" + query
}

// Read returns the checksum at the beginning of a text, in lower case; empty if the text begins with something else.
func Read(r io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, 4096))
	if err != nil {
		return "", err
	}
	words := strings.Fields(string(text))
	if len(words) == 0 {
		return "", nil
	}
	sum, err := hex.DecodeString(words[0])
	if err != nil || len(sum) != sha256.Size {
		return "", nil
	}
	return hex.EncodeToString(sum), nil
}
