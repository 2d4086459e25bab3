package readmodel

import (
	"embed"
	"fmt"
)

//go:embed sql/*.sql
var queries embed.FS

//go:embed migrations/*.sql
var migrations embed.FS

// query returns the text of one embedded query. The names are constants of this package, and a test runs
// each query, so a missing one is a fault of the program.
func query(name string) string {
	text, err := queries.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(fmt.Sprintf("readmodel: query %s: %v", name, err))
	}
	return string(text)
}
