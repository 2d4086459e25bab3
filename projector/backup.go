package projector

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tachobench/tacho/events"
)

// A backup is JSON lines, compressed with gzip: one that says which log it is, one for each event with its link of the chain, and
// one that says where the log ended. Nothing of it can be cut off or changed without the chain or the end showing it.

// backupForm is the version of the form.
const backupForm = 1

// longestLine is more than the largest event takes.
const longestLine = 4 << 20

// backupLine is any line of a backup.
type backupLine struct {
	// The first line.
	Form     int    `json:"tacho_backup,omitempty"`
	Identity string `json:"identity,omitempty"`
	// The line of an event. Data is in base64.
	Seq      events.Seq        `json:"seq,omitempty"`
	Subject  events.Subject    `json:"subject,omitempty"`
	StoredAt *time.Time        `json:"stored_at,omitempty"`
	Headers  map[string]string `json:"headers,omitempty"`
	Data     string            `json:"data,omitempty"`
	// Chain is also in the last line.
	Chain string `json:"chain,omitempty"`
	// The last line.
	End *events.Seq `json:"end,omitempty"`
}

// BackupEnd says what a backup holds.
type BackupEnd struct {
	Identity string     `json:"identity"`
	Last     events.Seq `json:"events"`
	ID       string     `json:"-"`
	Chain    Hash       `json:"-"`
}

// WriteBackup writes all events of a log, as long as it is now, and compares them with the archive as far as that goes. It writes
// no end if they differ. say is called with how far it is.
func WriteBackup(ctx context.Context, to io.Writer, log Pages, a *Archive, say func(at, of events.Seq)) (end BackupEnd, err error) {
	head, err := log.Head(ctx)
	if err != nil {
		return end, err
	}
	if head.Last == 0 {
		return end, errors.New("the log is empty, so there is nothing to back up")
	}
	end.Identity = head.Identity
	packed, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return end, err
	}
	lines := json.NewEncoder(packed)
	if err := lines.Encode(backupLine{Form: backupForm, Identity: head.Identity}); err != nil {
		return end, err
	}
	for end.Last < head.Last {
		page, err := log.Page(ctx, end.Last)
		if err != nil {
			return end, fmt.Errorf("the log cannot be backed up: %w: see `tacho log check`", err)
		}
		page = page[:min(len(page), int(head.Last-end.Last))]
		links, err := a.Links(ctx, end.Last, min(end.Last+events.Seq(len(page)), a.Last))
		if err != nil {
			return end, err
		}
		for i, s := range page {
			end.Last, end.ID, end.Chain = s.Seq, s.Header[events.HeaderID], Chain(end.Chain, s)
			if i < len(links) && links[i] != end.Chain {
				return end, fmt.Errorf("the log cannot be backed up: event %d (%s) is not what the archive in the database has: see `tacho log check`", s.Seq, s.Subject)
			}
			err := lines.Encode(backupLine{
				Seq: s.Seq, Subject: s.Subject, StoredAt: &s.StoredAt, Headers: s.Header, Data: base64.StdEncoding.EncodeToString(s.Data), Chain: end.Chain.String(),
			})
			if err != nil {
				return end, err
			}
		}
		say(end.Last, head.Last)
	}
	err = lines.Encode(backupLine{Chain: end.Chain.String(), End: &end.Last})
	return end, errors.Join(err, packed.Close())
}

// BackupError says where a backup is not what was written.
type BackupError struct {
	// Line counts from 1. After is the last event before it.
	Line  int
	After events.Seq
	What  string
}

func (e *BackupError) Error() string {
	return fmt.Sprintf("the backup is damaged in line %d, after event %d: %s", e.Line, e.After, e.What)
}

// BackupReader reads a backup. Make it with ReadBackup.
type BackupReader struct {
	lines *bufio.Reader
	line  int
	end   BackupEnd
}

// ReadBackup begins to read a backup.
func ReadBackup(from io.Reader) (*BackupReader, error) {
	packed, err := gzip.NewReader(from)
	if err != nil {
		return nil, &BackupError{What: "it is no gzip file", Line: 1}
	}
	r := &BackupReader{lines: bufio.NewReaderSize(packed, 64<<10)}
	first, err := r.next()
	if err != nil {
		return nil, err
	}
	if first.Form != backupForm || first.Identity == "" {
		return nil, r.fault("it is no backup of this form")
	}
	r.end.Identity = first.Identity
	return r, nil
}

// Identity returns which log it is a backup of.
func (r *BackupReader) Identity() string { return r.end.Identity }

// Each calls f with every event, in order, and returns the end. What f was called with is a part of the log only if Each
// returns no error.
func (r *BackupReader) Each(f func(events.Stored) error) (BackupEnd, error) {
	for {
		l, err := r.next()
		if err != nil {
			return BackupEnd{}, err
		}
		if l.End != nil {
			if *l.End != r.end.Last || l.Chain != r.end.Chain.String() {
				return BackupEnd{}, r.fault("it ends with other events than it says")
			}
			if _, err := r.lines.ReadByte(); err != io.EOF {
				return BackupEnd{}, r.fault("something follows its end, or its checksum is wrong")
			}
			return r.end, nil
		}
		s, err := r.event(l)
		if err != nil {
			return BackupEnd{}, err
		}
		if err := f(s); err != nil {
			return BackupEnd{}, err
		}
	}
}

// event checks a line of an event.
func (r *BackupReader) event(l backupLine) (events.Stored, error) {
	s := events.Stored{Seq: l.Seq, Subject: l.Subject, Header: l.Headers}
	if s.Seq != r.end.Last+1 {
		return s, r.fault(fmt.Sprintf("event %d comes instead of event %d", s.Seq, r.end.Last+1))
	}
	if l.StoredAt == nil {
		return s, r.fault("the event has no time")
	}
	s.StoredAt = l.StoredAt.UTC()
	var err error
	if s.Data, err = base64.StdEncoding.Strict().DecodeString(l.Data); err != nil {
		return s, r.fault("the data of the event cannot be read")
	}
	link := Chain(r.end.Chain, s)
	if hex.EncodeToString(link[:]) != l.Chain {
		return s, r.fault(fmt.Sprintf("event %d was changed: its hash is wrong", s.Seq))
	}
	r.end.Last, r.end.ID, r.end.Chain = s.Seq, s.Header[events.HeaderID], link
	return s, nil
}

// next reads a line.
func (r *BackupReader) next() (l backupLine, err error) {
	r.line++
	var text []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		text = append(text, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l, r.fault("it was cut here, or cannot be unpacked")
		}
		if len(text) > longestLine {
			return l, r.fault("the line is too long")
		}
	}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&l); err != nil {
		return l, r.fault("the line cannot be read")
	}
	return l, nil
}

func (r *BackupReader) fault(what string) error {
	return &BackupError{Line: r.line, After: r.end.Last, What: what}
}
