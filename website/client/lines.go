package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
)

// MaxLines bounds the requests of one file, MaxLine the bytes of one of them.
const (
	MaxLines = 10_000
	MaxLine  = 64 << 10
)

// ParseLine reads one request, as POST /requests takes it. It refuses fields that there are not, an unknown kind and an
// unknown priority.
func ParseLine(line []byte) (control.NewRequest, error) {
	var n control.NewRequest
	if len(line) > MaxLine {
		return n, fmt.Errorf("it has %d bytes: at most %d", len(line), MaxLine)
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return n, errors.New("it is empty: write one request as a JSON object")
	}
	if err := DecodeStrict(line, &n); err != nil {
		return n, err
	}
	var err error
	if n.Kind, err = events.ParseRequestKind(string(n.Kind)); err != nil {
		return n, err
	}
	_, err = events.ParsePriority(string(n.Priority))
	return n, err
}

// ReadLines reads requests, one a line. Its error names the line.
func ReadLines(r io.Reader) ([]control.NewRequest, error) {
	lines, err := ReadEach(r)
	if err != nil {
		return nil, err
	}
	out := make([]control.NewRequest, len(lines))
	for i, l := range lines {
		if l.Err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, l.Err)
		}
		out[i] = l.Request
	}
	return out, nil
}

// Line is a line of a file of requests. Err says why it is none.
type Line struct {
	Request control.NewRequest
	Err     error
}

// ReadEach reads requests, one a line, and goes on after a line that is none. Its error is one of the file.
func ReadEach(r io.Reader) ([]Line, error) {
	var out []Line
	s := bufio.NewScanner(r)
	s.Buffer(nil, MaxLine+1)
	for s.Scan() {
		if len(out) == MaxLines {
			return nil, fmt.Errorf("there are more than %d lines: split the file", MaxLines)
		}
		n, err := ParseLine(s.Bytes())
		out = append(out, Line{n, err})
	}
	switch err := s.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d: it has more than %d bytes", len(out)+1, MaxLine)
	case err != nil:
		return nil, err
	case len(out) == 0:
		return nil, errors.New("there is no request: write one a line, as a JSON object")
	}
	return out, nil
}
