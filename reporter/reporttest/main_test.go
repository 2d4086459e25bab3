// Package reporttest tests the reports of requests on real tables: a log in memory, the projector and a Postgres.
package reporttest

import (
	"os"
	"testing"

	"github.com/tachobench/tacho/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
