package projector

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tachobench/tacho/readmodel"
)

// While the projector is far behind, events and results travel by COPY: each column as the bytes that Postgres stores. An
// INSERT from arrays costs the server twice as much, because it takes every array apart and builds each row of its parts.

// copyRows stores rows of a table, given as one array for each column (see arrays), or returns an error and stores none.
func copyRows(ctx context.Context, tx pgx.Tx, table string, form []byte) error {
	var names []string
	for _, c := range readmodel.Columns(table) {
		names = append(names, fmt.Sprintf("%q", c.Name))
	}
	_, err := tx.Conn().PgConn().CopyFrom(ctx, bytes.NewReader(form), fmt.Sprintf("COPY %s (%s) FROM STDIN BINARY", table, strings.Join(names, ", ")))
	return err
}

// copyForm returns n rows, given as one array for each column, in the binary form of COPY. Their table must have no lists, no
// numeric and no jsonb: these have forms of their own.
func copyForm(columns []any, n int) []byte {
	size := 32 + n*(2+4*len(columns))
	for _, c := range columns {
		size += bytesIn(c)
	}
	b := append(make([]byte, 0, size), "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	for row := range n {
		b = binary.BigEndian.AppendUint16(b, uint16(len(columns)))
		for _, c := range columns {
			b = appendCell(b, c, row)
		}
	}
	return append(b, 0xff, 0xff)
}

// bytesIn returns how many bytes the values of a column take.
func bytesIn(column any) (n int) {
	switch list := column.(type) {
	case []string:
		for _, s := range list {
			n += len(s)
		}
	case [][]byte:
		for _, s := range list {
			n += len(s)
		}
	case []*string:
		for _, s := range list {
			if s != nil {
				n += len(*s)
			}
		}
	case []bool:
		n = len(list)
	case []int64:
		n = 8 * len(list)
	case []time.Time:
		n = 8 * len(list)
	case []*time.Time:
		n = 8 * len(list)
	}
	return n
}

// appendCell appends one value with its length before it.
func appendCell(b []byte, column any, row int) []byte {
	switch list := column.(type) {
	case []string:
		return appendText(b, list[row])
	case []*string:
		if list[row] == nil {
			return appendNull(b)
		}
		return appendText(b, *list[row])
	case [][]byte:
		return append(binary.BigEndian.AppendUint32(b, uint32(len(list[row]))), list[row]...)
	case []int64:
		return appendNumber(b, list[row])
	case []bool:
		if list[row] {
			return append(b, 0, 0, 0, 1, 1)
		}
		return append(b, 0, 0, 0, 1, 0)
	case []time.Time:
		return appendTime(b, list[row])
	case []*time.Time:
		if list[row] == nil {
			return appendNull(b)
		}
		return appendTime(b, *list[row])
	}
	panic(fmt.Sprintf("projector: a column of %T cannot be copied", column))
}

func appendNull(b []byte) []byte { return append(b, 0xff, 0xff, 0xff, 0xff) }

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

func appendNumber(b []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(append(b, 0, 0, 0, 8), uint64(n))
}

// epoch is where Postgres counts microseconds from: 2000-01-01, in Unix microseconds.
const epoch = 946_684_800_000_000

func appendTime(b []byte, t time.Time) []byte { return appendNumber(b, t.UnixMicro()-epoch) }

// duplicate reports whether Postgres refused a row because one with its key is there.
func duplicate(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code == "23505"
}
