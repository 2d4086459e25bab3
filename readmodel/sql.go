package readmodel

import (
	"embed"
	"fmt"
	"strings"
	"sync"
)

//go:embed sql/*.sql
var queries embed.FS

//go:embed migrations/*.sql
var migrations embed.FS

var texts = sync.OnceValue(func() map[string]string {
	all := Statements(queries)
	// Two queries choose requests. What is read of these is the same.
	for name, chosen := range map[string]string{"requests": "requests_filtered", "requests_of": "requests_of_ids"} {
		all[name] = strings.Replace(all["request_rows"], "CHOSEN", all[chosen], 1)
	}
	return all
})

// query returns the text of one embedded query. It panics if there is none: the names are constants of this package and
// a test runs each query, so this is a fault of the program.
func query(name string) string {
	text, known := texts()[name]
	if !known {
		panic(fmt.Sprintf("readmodel: there is no query %s", name))
	}
	return text
}
