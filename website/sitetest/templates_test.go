package sitetest

import (
	"os"
	"testing"

	"github.com/tachobench/tacho/rules/suite"
)

// choices publishes a suite that leaves much to choose.
func (s *site) choices() suite.Definitions {
	s.t.Helper()
	d := choicesOf(s.t)
	if _, err := s.control.Publish(s.ctx, teller(), d); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.now().Status(s.ctx); err != nil {
		s.t.Fatal(err)
	}
	return d
}

func choicesOf(t testing.TB) suite.Definitions {
	t.Helper()
	data, err := os.ReadFile("../../rules/suite/testdata/choices.toml")
	if err != nil {
		t.Fatal(err)
	}
	d, err := suite.Load("choices.toml", data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
