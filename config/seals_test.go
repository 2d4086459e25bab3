package config

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/rules/seal"
)

// A configuration without seals does not mention them.
func TestSealsAreShownWhereTheyAreUsed(t *testing.T) {
	conf := Default(t.TempDir())
	text, err := conf.TOML()
	if err != nil || strings.Contains(string(text), "seal") {
		t.Errorf("%s %v", text, err)
	}
	conf.Collector.Mode = SealsWarn
	text, err = conf.TOML()
	if err != nil || !strings.Contains(string(text), "seals = 'warn'") {
		t.Errorf("%s %v", text, err)
	}
}

func TestACollectorThatChecksSealsNeedsKeys(t *testing.T) {
	k, err := seal.New("alice", [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	public := []string{k.Public().String()}
	for name, c := range map[string]struct {
		seals Seals
		want  string
	}{
		"nothing":              {Seals{}, ""},
		"off with keys":        {Seals{SealsOff, public, nil}, ""},
		"enforce":              {Seals{SealsEnforce, public, public}, ""},
		"warn":                 {Seals{SealsWarn, public, public}, ""},
		"enforce, no keys":     {Seals{SealsEnforce, nil, public}, "collector.publishers"},
		"enforce, no others":   {Seals{SealsEnforce, public, nil}, "collector.dispatchers"},
		"warn, no keys":        {Seals{SealsWarn, nil, nil}, "collector.publishers"},
		"a private key":        {Seals{SealsEnforce, public, []string{k.Secret()}}, "collector.dispatchers: key 1: it is a private key"},
		"no key, although off": {Seals{"", []string{"alice"}, nil}, "collector.publishers: key 1"},
		"another word":         {Seals{"on", public, public}, "use off, warn or enforce"},
	} {
		conf := Default(t.TempDir())
		conf.Collector.Seals = c.seals
		err := conf.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), strings.Fields(k.Secret())[2]) {
			t.Errorf("%s: the error holds the private key", name)
		}
	}
}
