package projector

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/tachobench/tacho/readmodel"
)

// rowsJSON returns rows as a JSON list that Postgres takes, with the names of the columns. A row is the struct of the
// table, or a pointer to it. This is the quickest way for a few rows, and it can encode every type of column.
func rowsJSON[T any](table string, rows []T) ([]byte, error) {
	all, columns, b := reflect.ValueOf(rows), columnsOf[T](table), []byte{'['}
	for n := range rows {
		row := reflect.Indirect(all.Index(n))
		for i, c := range columns {
			v := row.Field(c.Field).Interface()
			if bytes := row.Field(c.Field); c.Type == "text" && bytes.Kind() == reflect.Slice {
				v = cleanText(string(bytes.Bytes()))
			}
			value, err := json.Marshal(v)
			if err != nil {
				return nil, fmt.Errorf("encode column %s of table %s: %w", c.Name, table, err)
			}
			switch {
			case i > 0:
				b = append(b, ',')
			case n > 0:
				b = append(b, ",{"...)
			default:
				b = append(b, '{')
			}
			b = append(append(appendJSONText(b, c.Name), ':'), value...)
		}
		b = append(b, '}')
	}
	return cleanJSON(append(b, ']')), nil
}

func columnsOf[T any](table string) []readmodel.Column {
	row := reflect.TypeFor[T]()
	if row.Kind() == reflect.Pointer {
		row = row.Elem()
	}
	return readmodel.ColumnsOf(table, row)
}

// arrays returns rows as one array for each column (see readmodel.Fill). This is the quickest way for many rows. It
// can encode only the types that events and results have. It cleans texts so that Postgres takes them; JSON is clean
// already.
func arrays[T any](table string, rows []T) []any {
	columns := columnsOf[T](table)
	list := make([]any, len(columns))
	all, fields := reflect.ValueOf(rows), make([]reflect.Value, len(rows))
	for i, c := range columns {
		for n := range fields {
			fields[n] = all.Index(n).Field(c.Field)
		}
		switch c.Type {
		case "text":
			list[i] = arrayOf(c, fields, func(v reflect.Value) string { return cleanText(v.String()) })
		case "json":
			list[i] = arrayOf(c, fields, reflect.Value.String)
		case "bigint":
			list[i] = arrayOf(c, fields, number)
		case "timestamptz":
			list[i] = arrayOf(c, fields, func(v reflect.Value) time.Time { return *v.Addr().Interface().(*time.Time) })
		case "bytea":
			list[i] = arrayOf(c, fields, reflect.Value.Bytes)
		default:
			panic(fmt.Sprintf("projector: column %s of table %s cannot travel in an array", c.Name, table))
		}
	}
	return list
}

// arrayOf makes an array of values, or of pointers to them if the column may be NULL.
func arrayOf[V any](c readmodel.Column, fields []reflect.Value, value func(reflect.Value) V) any {
	if !c.Nullable {
		list := make([]V, len(fields))
		for i, f := range fields {
			list[i] = value(f)
		}
		return list
	}
	list := make([]*V, len(fields))
	for i, f := range fields {
		if !f.IsNil() {
			list[i] = pointer(value(f.Elem()))
		}
	}
	return list
}

func number(v reflect.Value) int64 {
	if v.CanUint() {
		return int64(v.Uint())
	}
	return v.Int()
}
