package suite

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Without bounds each of these takes minutes, or more memory than there is.
func TestHugeFilesAreRefusedInWords(t *testing.T) {
	const size = 1 << 20
	many := func(form string) string {
		var b strings.Builder
		for i := 0; b.Len() < size-100; i++ {
			fmt.Fprintf(&b, form, i)
		}
		return b.String()
	}
	for name, tc := range map[string]struct{ text, want string }{
		"unknown keys":       {many("a%d=1\n"), "f.toml:20001:1: the file is too large for definitions: it has more than 20000 keys and values here"},
		"a list":             {"a = [\n" + many("%d,") + "]", "more than 20000 keys and values"},
		"inline tables":      {"a = {" + many("b%d = 1, ") + "c = 1}", "more than 20000 keys and values"},
		"a key of many":      {strings.Repeat("a.", size/2) + "a = 1", "f.toml:1:33: the file is too large for definitions: it has a key of more than 16 parts"},
		"a table of many":    {"[" + strings.Repeat("a.", size/2) + "a]", "more than 16 parts"},
		"a long key":         {"[" + strings.Repeat("a", size/2) + "]\n" + many("a%d = 1\n"), "a key of more than 256 bytes"},
		"lists in lists":     {"a = 1\nb = " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000), "f.toml:2:1: the file is too large for definitions: it has lists and tables inside one another 17 deep"},
		"tables in tables":   {"b = " + strings.Repeat("{a=", 9000) + "1" + strings.Repeat("}", 9000), "17 deep"},
		"empty lines":        {strings.Repeat("\n", size), "f.toml:20000:1: the file is too large for definitions: it has more than 20000 lines"},
		"lists not closed":   {"a = " + strings.Repeat("[", size), "nested"},
		"a comment is small": {"#" + strings.Repeat("x", size), "version is 0"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadBounded("f.toml", []byte(tc.text), nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%.300v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestProblemsOfForeignFilesAreShort(t *testing.T) {
	var b strings.Builder
	b.WriteString(small(t))
	for i := range 1000 {
		fmt.Fprintf(&b, "[[profile]]\nname = \"a-profile-with-a-long-name-%d\"\n", i)
	}
	b.WriteString("[[kind]]\nname = \"wrong\"\nprofile = \"none\"\n")
	_, err := LoadBounded("f.toml", []byte(b.String()), anyDigest)
	var problems Problems
	if !errors.As(err, &problems) || len(problems) == 0 {
		t.Fatalf("got %v", err)
	}
	cut := 0
	for _, p := range problems {
		if len(p.Message) > mostMessage+len("…") {
			t.Errorf("a message of %d bytes: %.100s", len(p.Message), p.Message)
		}
		if strings.HasSuffix(p.Message, "…") {
			cut++
		}
	}
	if cut == 0 {
		t.Errorf("nothing was cut: %.300v", err)
	}
}

func TestMoreJobsThanCanBeMadeAreRefused(t *testing.T) {
	text := small(t)
	var b strings.Builder
	b.WriteString(text)
	for i := range 400 {
		fmt.Fprintf(&b, "[[profile]]\nname = \"p%d\"\n[[backend]]\nname = \"b%d\"\n", i, i)
	}
	b.WriteString("[[kind]]\nname = \"all\"\nper_profile = true\nper_backend = true\n")
	_, err := LoadBounded("f.toml", []byte(b.String()), anyDigest)
	if err == nil || !strings.Contains(err.Error(), "at most 200000 can be made") {
		t.Errorf("%.300v", err)
	}
}
