package projector

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/tachobench/tacho/readmodel"
)

// arrays returns rows as statements take them (see readmodel.Fill): one array for each column of the table. A row is the
// struct of the table, or a pointer to it. Texts become texts that Postgres takes.
func arrays[T any](table string, rows []T) ([]any, error) {
	row := reflect.TypeFor[T]()
	if row.Kind() == reflect.Pointer {
		row = row.Elem()
	}
	columns := readmodel.ColumnsOf(table, row)
	list := make([]any, len(columns))
	all, fields := reflect.ValueOf(rows), make([]reflect.Value, len(rows))
	for i, c := range columns {
		for n := range fields {
			fields[n] = reflect.Indirect(all.Index(n)).Field(c.Field)
		}
		var err error
		if list[i], err = array(c, fields); err != nil {
			return nil, fmt.Errorf("encode column %s of table %s: %w", c.Name, table, err)
		}
	}
	return list, nil
}

// array returns the values of one column.
func array(c readmodel.Column, fields []reflect.Value) (any, error) {
	switch c.Type {
	case "text":
		return arrayOf(c, fields, func(v reflect.Value) string { return cleanText(textOf(v)) }), nil
	case "bigint":
		return arrayOf(c, fields, number), nil
	case "boolean":
		return arrayOf(c, fields, reflect.Value.Bool), nil
	case "timestamptz":
		return arrayOf(c, fields, func(v reflect.Value) time.Time { return *v.Addr().Interface().(*time.Time) }), nil
	case "bytea":
		return arrayOf(c, fields, reflect.Value.Bytes), nil
	case "numeric":
		return arrayOf(c, fields, func(v reflect.Value) string { return strconv.FormatUint(v.Uint(), 10) }), nil
	case "text[]", "bigint[]":
		return arrayOf(c, fields, literal), nil
	}
	var failed error
	texts := arrayOf(c, fields, func(v reflect.Value) string {
		if v.Kind() == reflect.String { // made before
			return v.String()
		}
		text, err := json.Marshal(v.Interface())
		if err != nil {
			failed = err
		}
		return string(cleanJSON(text))
	})
	return texts, failed
}

// arrayOf makes an array of values, or of pointers to them where the column may be NULL.
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

func textOf(v reflect.Value) string {
	if v.Kind() == reflect.Slice {
		return string(v.Bytes())
	}
	return v.String()
}

func number(v reflect.Value) int64 {
	if v.CanUint() {
		return int64(v.Uint())
	}
	return v.Int()
}

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// literal returns a list as Postgres writes an array.
func literal(list reflect.Value) string {
	b := []byte{'{'}
	for i := range list.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		switch v := list.Index(i); v.Kind() {
		case reflect.String:
			b = append(append(append(b, '"'), quoted.Replace(cleanText(v.String()))...), '"')
		default:
			b = strconv.AppendInt(b, number(v), 10)
		}
	}
	return string(append(b, '}'))
}
