package readmodel

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// ErrOtherTables means that the tables are not those that this program knows.
var ErrOtherTables = errors.New("the tables have other columns than this version of Tacho knows; start the version that made them, or a newer one")

// Check compares the tables in the schema of a connection with the structs of their rows: each column must
// have a field of its type, and each field a column. Errors: ErrOtherTables, with what differs.
func Check(ctx context.Context, conn *pgx.Conn) error {
	var names, rows, cols, types []string
	var nullable []bool
	for _, t := range Tables() {
		for _, c := range Columns(t.Name) {
			names, rows, cols = append(names, t.Name), append(rows, t.Row.String()), append(cols, c.Name)
			types, nullable = append(types, c.Type), append(nullable, c.Nullable)
		}
	}
	found, err := conn.Query(ctx, query("columns_differ"), names, rows, cols, types, nullable)
	if err != nil {
		return fmt.Errorf("compare the tables with the structs of their rows: %w", err)
	}
	differences, err := pgx.CollectRows(found, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("compare the tables with the structs of their rows: %w", err)
	}
	if len(differences) > 0 {
		return fmt.Errorf("%w (%s)", ErrOtherTables, strings.Join(differences, "; "))
	}
	return nil
}
