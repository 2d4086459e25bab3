package suite

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConditionsAndWhatDecidesThem(t *testing.T) {
	facts := map[string]string{"pgo": "off", "lto": "thin", "profile": "doc", "request": "try"}
	for _, c := range []struct {
		text string
		on   bool
		why  string
	}{
		{"pgo = 'off'", true, "option pgo = off"},
		{"pgo='on'", false, "option pgo = off"},
		{`profile != "doc"`, false, "profile = doc"},
		{"not pgo = 'off'", false, "option pgo = off"},
		{"not (not pgo = 'off')", true, "option pgo = off"},
		{"pgo = 'on' and lto = 'fat'", false, "option pgo = off"},
		{"pgo = 'on' or lto = 'fat' or profile = 'opt'", false, "option pgo = off, option lto = thin and profile = doc"},
		{"pgo = 'on' or pgo = 'auto'", false, "option pgo = off"},
		{"pgo = 'on' and lto = 'fat' or request = 'try'", true, "request = try"},
		{"pgo = 'on' and (lto = 'fat' or request = 'try')", false, "option pgo = off"},
		{"not (pgo = 'off' and request = 'try')", false, "option pgo = off and request = try"},
	} {
		condition, err := parseWhen(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		on, why := condition.holds(func(name string) string { return facts[name] })
		if on != c.on || and(why) != c.why {
			t.Errorf("%s: %v because of %s, want %v because of %s", c.text, on, and(why), c.on, c.why)
		}
	}
}

func TestConditionsThatCannotBeRead(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", `it ends where a name is expected`},
		{"pgo", `it ends where = or != is expected`},
		{"pgo =", `it ends where a value in quotes is expected`},
		{"'pgo' = 'on'", `unexpected "pgo": a name is expected`},
		{"pgo = 'on' and", `it ends where a name is expected`},
		{"pgo = 'on')", `unexpected ")": "and" or "or" is expected`},
		{"pgo (", `unexpected "(": = or != is expected`},
		{"pgo ! 'on'", `unexpected '!': use names, values in quotes, =, !=, and, or, not and brackets`},
		{strings.Repeat("(", 17) + "pgo = 'on'", `brackets and "not" are too deep inside of each other: use at most 16`},
		{strings.Repeat("not ", 17) + "pgo = 'on'", `brackets and "not" are too deep inside of each other: use at most 16`},
		{"pgo = '" + strings.Repeat("x", 1024) + "'", `it has 1032 characters: use at most 1024`},
	} {
		_, err := parseWhen(c.text)
		if err == nil || err.Error() != c.want {
			t.Errorf("%.40s: got %v, want %s", c.text, err, c.want)
		}
	}
	deep := strings.Repeat("(", 16) + "pgo = 'on'" + strings.Repeat(")", 16)
	if _, err := parseWhen(deep); err != nil {
		t.Error(err)
	}
}

// For any text, parseWhen says what is wrong and where, or returns a condition that decides and can say why.
func FuzzWhen(f *testing.F) {
	for _, text := range []string{"pgo = 'on' and profile != 'doc'", "not (a='b' or c=\"d\")", "((((", "not not a = ''", "a == b", "é = 'ü'", "\xff"} {
		f.Add(text, "on")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		c, err := parseWhen(text)
		if err != nil {
			if at := whenPlace(err); at < 0 || at > len(text) || err.Error() == "" {
				t.Fatalf("%q: %v at %d", text, err, at)
			}
			return
		}
		var compared []string
		c.comparisons(func(one comparison) {
			if !strings.HasPrefix(text[one.at:], one.name) || text[one.atValue+1:one.atValue+1+len(one.value)] != one.value {
				t.Fatalf("%q: comparison of %q with %q is not at %d and %d", text, one.name, one.value, one.at, one.atValue)
			}
			compared = append(compared, one.name)
		})
		on, why := c.holds(func(string) string { return value })
		if len(compared) == 0 || len(why) == 0 {
			t.Fatalf("%q: no comparisons, or no reason", text)
		}
		opposite, again := negation{c}.holds(func(string) string { return value })
		if on == opposite || !cmp.Equal(why, again) {
			t.Fatalf("%q: %v and its opposite %v", text, on, opposite)
		}
	})
}
