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

func columnsOf[T any](table string) []readmodel.Column {
	row := reflect.TypeFor[T]()
	if row.Kind() == reflect.Pointer {
		row = row.Elem()
	}
	return readmodel.ColumnsOf(table, row)
}

// arrays returns rows as one array for each column (see readmodel.Fill). A row is the struct of the table, or a pointer to
// it. All texts are such as Postgres takes them; JSON that a row holds as text is so already. The error names a column
// whose value is no JSON.
func arrays[T any](table string, rows []T) ([]any, error) {
	columns := columnsOf[T](table)
	list := make([]any, len(columns))
	all, structs := reflect.ValueOf(rows), make([]reflect.Value, len(rows))
	for n := range structs {
		structs[n] = reflect.Indirect(all.Index(n))
	}
	var err error
	for i, c := range columns {
		switch c.Type {
		case "text":
			list[i] = arrayOf(c, structs, text)
		case "bigint":
			list[i] = arrayOf(c, structs, number)
		case "numeric":
			list[i] = arrayOf(c, structs, func(v reflect.Value) string { return strconv.FormatUint(v.Uint(), 10) })
		case "boolean":
			list[i] = arrayOf(c, structs, reflect.Value.Bool)
		case "timestamptz":
			list[i] = arrayOf(c, structs, func(v reflect.Value) time.Time { return *v.Addr().Interface().(*time.Time) })
		case "bytea":
			list[i] = arrayOf(c, structs, reflect.Value.Bytes)
		case "text[]", "bigint[]":
			list[i] = arrayOf(c, structs, literal)
		case "json":
			list[i] = arrayOf(c, structs, func(v reflect.Value) string {
				if v.Kind() == reflect.String {
					return v.String()
				}
				encoded, failed := json.Marshal(v.Interface())
				if failed != nil {
					err = fmt.Errorf("encode column %s of table %s: %w", c.Name, table, failed)
				}
				return string(cleanJSON(encoded))
			})
		default:
			panic(fmt.Sprintf("projector: column %s of table %s cannot travel in an array", c.Name, table))
		}
	}
	return list, err
}

// arrayOf makes an array of the values of a column, or of pointers to them if the column may be NULL.
func arrayOf[V any](c readmodel.Column, rows []reflect.Value, value func(reflect.Value) V) any {
	if !c.Nullable {
		list := make([]V, len(rows))
		for i, row := range rows {
			list[i] = value(row.Field(c.Field))
		}
		return list
	}
	list := make([]*V, len(rows))
	for i, row := range rows {
		if v := row.Field(c.Field); !v.IsNil() {
			list[i] = pointer(value(v.Elem()))
		}
	}
	return list
}

func text(v reflect.Value) string {
	if v.Kind() == reflect.Slice {
		return cleanText(string(v.Bytes()))
	}
	return cleanText(v.String())
}

func number(v reflect.Value) int64 {
	if v.CanUint() {
		return int64(v.Uint())
	}
	return v.Int()
}

var quoted = strings.NewReplacer(`"`, `\"`, `\`, `\\`)

// literal returns a list of texts or numbers as Postgres writes it.
func literal(list reflect.Value) string {
	if list.Len() == 0 {
		return "{}"
	}
	b := []byte{'{'}
	for i := range list.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		if v := list.Index(i); v.Kind() == reflect.String {
			b = append(append(append(b, '"'), quoted.Replace(text(v))...), '"')
		} else {
			b = strconv.AppendInt(b, number(v), 10)
		}
	}
	return string(append(b, '}'))
}
