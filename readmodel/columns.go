package readmodel

import (
	"fmt"
	"io/fs"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/tachobench/tacho/events"
)

// Column is one column of a table, and the field of its rows that holds it.
type Column struct {
	Name string
	// Type is the name of the type in Postgres. A column of type json may be jsonb.
	Type string
	// Field is the number of the field in its struct.
	Field int
	// Nullable says that the field is a pointer, which is nil for NULL.
	Nullable bool
	// Kept says that the first value of a row stays when the row is replaced.
	Kept bool
}

// columnsOf returns the columns that the tags of a struct name: `db:"name"`, then the type if the field does not
// tell it, and "kept". A field with "query" is no column: queries compute it.
func columnsOf(row reflect.Type) []Column {
	var list []Column
	for i := range row.NumField() {
		f := row.Field(i)
		options := strings.Split(f.Tag.Get("db"), ",")
		c := Column{Name: options[0], Type: typeOf(f.Type), Field: i, Nullable: f.Type.Kind() == reflect.Pointer}
		stored := c.Name != "-"
		for _, option := range options[1:] {
			switch option {
			case "query":
				stored = false
			case "kept":
				c.Kept = true
			default:
				c.Type = option
			}
		}
		if stored {
			list = append(list, c)
		}
	}
	return list
}

// typeOf returns the type of the column for a field of type t.
func typeOf(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return typeOf(t.Elem())
	case t == reflect.TypeFor[time.Time]():
		return "timestamptz"
	case t == reflect.TypeFor[events.RawJSON]():
		return "json"
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "bigint"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytea"
		}
		if of := typeOf(t.Elem()); of == "text" || of == "bigint" {
			return of + "[]"
		}
	}
	return "json"
}

// shape is what the statements need to know about a table.
type shape struct {
	row     reflect.Type
	columns []Column
}

var shapes = sync.OnceValue(func() map[string]shape {
	of := make(map[string]shape)
	for _, t := range Tables() {
		of[t.Name] = shape{row: t.Row, columns: columnsOf(t.Row)}
	}
	return of
})

// Columns returns the columns of a table in the order of the fields of its rows. It panics if there is no such table:
// the names of tables are constants, so this is a fault of the program.
func Columns(table string) []Column {
	s, known := shapes()[table]
	if !known {
		panic(fmt.Sprintf("readmodel: there is no table %s", table))
	}
	return s.columns
}

// ColumnsOf is Columns for rows of another type. It panics unless that type converts to the struct of the table.
func ColumnsOf(table string, row reflect.Type) []Column {
	list := Columns(table)
	if !row.ConvertibleTo(shapes()[table].row) {
		panic(fmt.Sprintf("readmodel: %s is no row of table %s", row, table))
	}
	return list
}

var placeholder = regexp.MustCompile(`\{(\w+)(\[1?\])?(?: (\w+))?(?: but (\w+))?\}`)

// Fill replaces these placeholders in a statement by the columns of tables:
//
//	{alert}              all columns of the table
//	{alert a}            all columns of the table with the alias a
//	{alert but message}  all columns but one
//	{alert[]}            many rows, given as one array for each column, the first of them as $1
//	{alert[1]}           one row, given as one value for each column, the first of them as $1
func Fill(statement string) string {
	return placeholder.ReplaceAllStringFunc(statement, func(found string) string {
		parts := placeholder.FindStringSubmatch(found)
		table, came, alias, but := Columns(parts[1]), parts[2], parts[3], parts[4]
		switch came {
		case "[]":
			return arrays(table)
		case "[1]":
			return single(table)
		}
		if alias != "" {
			alias += "."
		}
		var names []string
		for _, c := range table {
			if c.Name != but {
				names = append(names, fmt.Sprintf("%s%q", alias, c.Name))
			}
		}
		return strings.Join(names, ", ")
	})
}

// travels returns the type in which a value of the column travels. An array of lists is none, and jsonb has arrays of its own: texts
// become all of them.
func (c Column) travels() string {
	switch c.Type {
	case "json", "numeric", "text[]", "bigint[]":
		return "text"
	}
	return c.Type
}

// single returns the query that makes one row from values. To Postgres it is a row of constants, where arrays are a function whose
// rows it has to store first.
func single(table []Column) string {
	var values []string
	for i, c := range table {
		value := fmt.Sprintf("$%d::%s", i+1, c.travels())
		if c.travels() != c.Type {
			value += "::" + c.Type
		}
		values = append(values, fmt.Sprintf("%s AS %q", value, c.Name))
	}
	return fmt.Sprintf("(SELECT %s)", strings.Join(values, ", "))
}

// arrays returns the query that makes rows from arrays.
func arrays(table []Column) string {
	var values, parameters, names []string
	for i, c := range table {
		value := fmt.Sprintf("%q", c.Name)
		if c.travels() != c.Type {
			value = fmt.Sprintf("%[1]q::%[2]s AS %[1]q", c.Name, c.Type)
		}
		values, names = append(values, value), append(names, fmt.Sprintf("%q", c.Name))
		parameters = append(parameters, fmt.Sprintf("$%d::%s[]", i+1, c.travels()))
	}
	return fmt.Sprintf("(SELECT %s FROM unnest(%s) AS came (%s))",
		strings.Join(values, ", "), strings.Join(parameters, ", "), strings.Join(names, ", "))
}

// Statements returns the texts of all files sql/*.sql by name, with their placeholders filled (see Fill). It panics if
// one cannot be read: the files are embedded and the tests run each of them, so this is a fault of the program.
func Statements(files fs.FS) map[string]string {
	texts := make(map[string]string)
	names, err := fs.Glob(files, "sql/*.sql")
	for _, name := range names {
		var text []byte
		if text, err = fs.ReadFile(files, name); err != nil {
			break
		}
		texts[strings.TrimSuffix(strings.TrimPrefix(name, "sql/"), ".sql")] = Fill(string(text))
	}
	if err != nil {
		panic(fmt.Sprintf("readmodel: read the statements: %v", err))
	}
	return texts
}
