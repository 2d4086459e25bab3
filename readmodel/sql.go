package readmodel

import (
	"embed"
	"fmt"
	"sync"
)

//go:embed sql/*.sql
var queries embed.FS

//go:embed migrations/*.sql
var migrations embed.FS

var texts = sync.OnceValue(func() map[string]string { return Statements(queries) })

// query returns the text of one embedded query. It panics if there is none: the names are constants of this package and
// a test runs each query, so this is a fault of the program.
func query(name string) string {
	text, known := texts()[name]
	if !known {
		panic(fmt.Sprintf("readmodel: there is no query %s", name))
	}
	return text
}
