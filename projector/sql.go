package projector

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tachobench/tacho/readmodel"
)

//go:embed sql/*.sql
var files embed.FS

// statements holds the embedded statements, and some for each table that are made from its columns: "load TABLE" reads
// all rows, "add TABLE" stores rows, and "put TABLE" stores rows and replaces those with the same keys. "add TABLE, one" and
// "put TABLE, one" do so with one row, which comes as values and not as arrays: that takes Postgres two thirds of the time.
var statements = sync.OnceValue(func() map[string]string {
	texts := readmodel.Statements(files)
	for _, t := range readmodel.Tables() {
		texts["load "+t.Name] = readmodel.Fill(fmt.Sprintf("SELECT {%[1]s} FROM %[1]s", t.Name))
		for how, came := range map[string]string{"": "[]", oneRow: "[1]"} {
			add := readmodel.Fill(fmt.Sprintf("INSERT INTO %[1]s ({%[1]s}) SELECT {%[1]s} FROM {%[1]s%[2]s} AS came", t.Name, came))
			texts["add "+t.Name+how], texts["put "+t.Name+how] = add, add+replace(t)
		}
	}
	return texts
})

const oneRow = ", one"

// replace returns the clause by which a row replaces another.
func replace(t readmodel.Table) string {
	var sets []string
	for _, c := range readmodel.Columns(t.Name) {
		if !c.Kept && !slices.Contains(t.Key, c.Name) {
			sets = append(sets, fmt.Sprintf("%[1]q = excluded.%[1]q", c.Name))
		}
	}
	return fmt.Sprintf(` ON CONFLICT ("%s") DO UPDATE SET %s`, strings.Join(t.Key, `", "`), strings.Join(sets, ", "))
}

// statement returns the text of one statement. It panics if there is none: the names are constants of this package and
// the tests run each statement, so this is a fault of the program.
func statement(name string) string {
	text, known := statements()[name]
	if !known {
		panic(fmt.Sprintf("projector: there is no statement %s", name))
	}
	return text
}
