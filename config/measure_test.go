package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHowAMachineMeasures(t *testing.T) {
	for text, want := range map[string]string{
		`measure = "alone"`:               "",
		`measure = "shared"`:              "",
		`measure = "sometimes"`:           "collector.measure",
		`before = ["/bin/drop", "-a"]`:    "",
		`before = [""]`:                   "collector.before, collector.after",
		`after = ["", "x"]`:               "collector.before, collector.after",
		`turns = "/run/tacho"`:            "",
		`instructions = "auto"`:           "",
		`instructions = "off"`:            "",
		`instructions = true`:             "Instructions of type string",
		`instructions = "perf"`:           `"perf" is no way to count instructions: use "auto", "counters", "valgrind" or "off"`,
		`count_instructions = true`:       "tacho.toml:2:1: collector.count_instructions is now collector.instructions",
		"before = []\nafter = []":         "",
		`before = "echo 3 > drop_caches"`: "Before of type []string",
	} {
		file := filepath.Join(t.TempDir(), "tacho.toml")
		if err := os.WriteFile(file, []byte("[collector]\n"+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(file, env(map[string]string{"HOME": "/h"}))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
