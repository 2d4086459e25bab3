package docker

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// variable matches a use of a variable in docker-compose.yml or in a configuration file of NATS.
var variable = regexp.MustCompile(`\$\{?(TACHO_[A-Z0-9_]+)`)

func TestVariablesAreDescribed(t *testing.T) {
	files, err := filepath.Glob("nats/*.conf")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var used []string
	for _, name := range append(files, "../docker-compose.yml") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range variable.FindAllStringSubmatch(string(text), -1) {
			used = append(used, m[1])
		}
	}
	slices.Sort(used)
	used = slices.Compact(used)
	if len(used) < len(users) {
		t.Errorf("only %d variables were found: %q", len(used), used)
	}
	for _, name := range used {
		if !strings.Contains(string(readme), "`"+name+"`") {
			t.Errorf("%s is not described in docker/README.md", name)
		}
	}
}
