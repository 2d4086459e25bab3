package logfiles

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/minio/highwayhash"
	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/eventlog/jetstream"
	"github.com/tachobench/tacho/events"
)

// A record is: its length (4 bytes, the highest bit is set if there are headers), the sequence (8), the time in nanoseconds
// (8), the length of the subject (2), the subject, the length of the headers (4, only with headers), the headers, the data,
// a checksum (8). Numbers are little-endian.
const (
	fixedBytes = 22
	sumBytes   = 8
	withHeader = 1 << 31
	// erased marks the sequence of a message that the server overwrote; deleted, a note that one was deleted.
	erased  = 1 << 63
	deleted = 1 << 62
	// longest is how long the server lets a record be.
	longest = 32 << 20
)

// Record is one event as the files hold it.
type Record struct {
	Seq     events.Seq
	At      time.Time
	Subject events.Subject
	// Header has the lines of the headers as they are on the wire; Data is the event's.
	Header, Data []byte
}

// RecordOf returns the record of an event.
func RecordOf(s events.Stored) Record {
	b := []byte("NATS/1.0\r\n")
	for _, name := range slices.Sorted(maps.Keys(s.Header)) {
		b = fmt.Appendf(b, "%s: %s\r\n", name, s.Header[name])
	}
	return Record{Seq: s.Seq, At: s.StoredAt, Subject: s.Subject, Header: append(b, '\r', '\n'), Data: s.Data}
}

// Event returns the event as the log gives it.
func (r Record) Event() (events.Stored, error) {
	var h nats.Header
	if len(r.Header) > 0 {
		var err error
		if h, err = nats.DecodeHeadersMsg(r.Header); err != nil {
			return events.Stored{}, fmt.Errorf("headers of event %d: %w", r.Seq, err)
		}
	}
	return jetstream.Stored(r.Subject, r.Seq, r.At, h, r.Data), nil
}

// sums makes the checksums of one block. Their key is the name of the stream and the number of the block.
type sums struct {
	digest *highwayhash.Digest64
	room   [sumBytes]byte
	// subject is that of the last record: most have the same as the one before.
	subject events.Subject
}

func sumsOf(stream string, block int) (*sums, error) {
	key := sha256.Sum256(fmt.Appendf(nil, "%s-%d", stream, block))
	d, err := highwayhash.NewDigest64(key[:])
	return &sums{digest: d}, err
}

// sum returns the checksum of a record without its own.
func (s *sums) sum(fixed, subject, rest []byte) []byte {
	s.digest.Reset()
	_, _ = s.digest.Write(fixed[4:20]) // cannot fail
	_, _ = s.digest.Write(subject)
	_, _ = s.digest.Write(rest)
	return s.digest.Sum(s.room[:0])
}

// mark is what else a record can be than an event.
type mark int

const (
	event mark = iota
	overwritten
	deletion
)

// The reasons why there is no record.
var (
	errShort = errors.New("the file ends within it")
	errShape = errors.New("its lengths are wrong")
	errSum   = errors.New("its checksum is wrong")
)

// read returns the record at an offset and where it ends. The record holds parts of buf.
func (s *sums) read(buf []byte, at int) (r Record, m mark, end int, err error) {
	b := buf[at:]
	if len(b) < fixedBytes+sumBytes {
		return r, m, 0, errShort
	}
	length := binary.LittleEndian.Uint32(b)
	headed := length&withHeader != 0
	length &^= withHeader
	subject := int(binary.LittleEndian.Uint16(b[20:]))
	before := fixedBytes + subject
	if headed {
		before += 4
	}
	switch {
	case length > longest || int(length) < before+sumBytes:
		return r, m, 0, errShape
	case int(length) > len(b):
		return r, m, 0, errShort
	}
	b = b[:length]
	body := b[before : len(b)-sumBytes]
	if !bytes.Equal(s.sum(b, b[fixedBytes:fixedBytes+subject], body), b[len(b)-sumBytes:]) {
		return r, m, 0, errSum
	}
	header := 0
	if headed {
		// The checksum does not cover this length.
		if header = int(binary.LittleEndian.Uint32(b[before-4:])); header > len(body) || !bytes.HasSuffix(body[:header], []byte("\r\n\r\n")) {
			return r, m, 0, errShape
		}
	}
	seq := binary.LittleEndian.Uint64(b[4:])
	switch {
	case seq&deleted != 0:
		m = deletion
	case seq&erased != 0 || seq == 0:
		m = overwritten
	}
	if named := b[fixedBytes : fixedBytes+subject]; string(named) != string(s.subject) {
		s.subject = events.Subject(named)
	}
	return Record{
		Seq: events.Seq(seq &^ (erased | deleted)), At: time.Unix(0, int64(binary.LittleEndian.Uint64(b[12:]))).UTC(),
		Subject: s.subject, Header: body[:header], Data: body[header:],
	}, m, at + int(length), nil
}

// subjectAt returns the subject of a record that cannot be read; empty if it is not legible either.
func subjectAt(buf []byte, at int) events.Subject {
	if len(buf) < at+fixedBytes {
		return ""
	}
	n := int(binary.LittleEndian.Uint16(buf[at+20:]))
	if len(buf) < at+fixedBytes+n || !bytes.HasPrefix(buf[at+fixedBytes:at+fixedBytes+n], subjectStart) {
		return ""
	}
	return events.Subject(buf[at+fixedBytes : at+fixedBytes+n])
}

// appendRecord appends a record with its checksum.
func (s *sums) appendRecord(buf []byte, r Record) []byte {
	from := len(buf)
	length := fixedBytes + len(r.Subject) + len(r.Header) + len(r.Data) + sumBytes
	bit := uint32(0)
	if len(r.Header) > 0 {
		length, bit = length+4, withHeader
	}
	buf = binary.LittleEndian.AppendUint32(buf, uint32(length)|bit)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(r.Seq))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(r.At.UnixNano()))
	buf = binary.LittleEndian.AppendUint16(buf, uint16(len(r.Subject)))
	buf = append(buf, r.Subject...)
	if bit != 0 {
		buf = binary.LittleEndian.AppendUint32(buf, uint32(len(r.Header)))
	}
	body := len(buf)
	buf = append(append(buf, r.Header...), r.Data...)
	return append(buf, s.sum(buf[from:], buf[from+fixedBytes:from+fixedBytes+len(r.Subject)], buf[body:])...)
}
