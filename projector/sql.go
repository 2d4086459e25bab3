package projector

import (
	"embed"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/readmodel"
)

//go:embed sql/*.sql
var files embed.FS

// statements are the embedded ones, and for each table those that are made of its columns: "load" and its name reads all
// rows, "add" stores rows, and "put" stores rows in the place of those that have the same keys.
var statements = sync.OnceValue(func() map[string]string {
	texts := readmodel.Statements(files)
	for _, t := range readmodel.Tables() {
		name := pgx.Identifier{t.Name}.Sanitize()
		texts["load "+t.Name] = readmodel.Fill(fmt.Sprintf("SELECT {%s} FROM %s", t.Name, name))
		add := readmodel.Fill(fmt.Sprintf("INSERT INTO %[2]s ({%[1]s}) SELECT {%[1]s} FROM {%[1]s[]} AS came", t.Name, name))
		texts["add "+t.Name], texts["put "+t.Name] = add, add+" ON CONFLICT ("+list(t.Key)+") DO UPDATE SET "+replaced(t)
	}
	return texts
})

// replaced says how a row takes the place of another.
func replaced(t readmodel.Table) string {
	var sets []string
	for _, c := range readmodel.Columns(t.Name) {
		if name := list([]string{c.Name}); !c.Kept {
			sets = append(sets, name+" = excluded."+name)
		}
	}
	return strings.Join(sets, ", ")
}

// list returns the names of columns as statements have them.
func list(names []string) string {
	clean := make([]string, len(names))
	for i, name := range names {
		clean[i] = pgx.Identifier{name}.Sanitize()
	}
	return strings.Join(clean, ", ")
}

// statement returns the text of one statement. The names are constants of this package, and the tests run each
// statement, so a missing one is a fault of the program.
func statement(name string) string {
	text, known := statements()[name]
	if !known {
		panic(fmt.Sprintf("projector: there is no statement %s", name))
	}
	return text
}
