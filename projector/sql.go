package projector

import (
	"embed"
	"fmt"
)

//go:embed sql/*.sql
var statements embed.FS

// statement returns the text of one embedded statement. The names are constants of this package, and the
// tests run each statement, so a missing one is a fault of the program.
func statement(name string) string {
	text, err := statements.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(fmt.Sprintf("projector: statement %s: %v", name, err))
	}
	return string(text)
}
