// Package sitetest tries the whole website over HTTP: a log in memory, the projector, a real Postgres, and a
// story told on the log.
package sitetest

import (
	"os"
	"testing"

	"github.com/tachobench/tacho/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
