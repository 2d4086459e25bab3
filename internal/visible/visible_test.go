package visible

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"plain\n\ttext ✓ 汉字 é":      "plain\n\ttext ✓ 汉字 é",
		"\x1b[2J\x1b]0;title\a":     `\x1b[2J\x1b]0;title\x07`,
		"over\rwritten":             `over\x0dwritten`,
		"\b\x00\x7f\v\f":            `\x08\x00\x7f\x0b\x0c`,
		"\u0085\u009b31m":           `\u0085\u009b31m`,
		"\x9b31m":                   `\x9b31m`,
		"a\u202eb\u2066c\u2069":     `a\u202eb\u2066c\u2069`,
		"\u200e\u200f\u061c":        `\u200e\u200f\u061c`,
		"zero\u200bwidth\ufeff":     `zero\u200bwidth\ufeff`,
		"line\u2028para\u2029":      `line\u2028para\u2029`,
		"\U000e0041":                `\U000e0041`,
		"\xff\xfe half \xe2\x82":    `\xff\xfe half \xe2\x82`,
		"the real \ufffd stays":     "the real \ufffd stays",
		"👩\u200d🔬 می\u200cخواهم":    "👩\u200d🔬 می\u200cخواهم",
		`a written \x1b is no more`: `a written \x1b is no more`,
	} {
		if got := Text(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Line("a\n\tb\r\n"); got != `a\n\tb\x0d\n` {
		t.Errorf("%q", got)
	}
}

// The log's handler itself escapes most, but not DEL.
func TestTheLogIsClean(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(NewWriter(&out), nil))
	for _, s := range []string{"\x1b[2J", "\u009b", "\u202e", "\u2066", "\x7f", "\xff", "\r", "\u200b", "\u2028"} {
		log.Warn("message "+s, "key "+s, "value "+s, "error", errors.New(s))
	}
	if got := out.String(); Text(got) != got {
		t.Errorf("%q", got)
	}
}

func TestAWriterKeepsRunesTogether(t *testing.T) {
	const text = "a✓b\x1bc汉\u202e\xffd👩\xe2\x82"
	var out bytes.Buffer
	w := NewWriter(&out)
	for i := range len(text) {
		if n, err := w.Write([]byte{text[i]}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != Text(text) {
		t.Errorf("%q, want %q", got, Text(text))
	}
	if _, err := NewWriter(failing{}).Write([]byte("x")); err == nil {
		t.Error("an error is swallowed")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestJSONStaysTheSame(t *testing.T) {
	value := map[string]string{"a\u202e": "\u009b\x7f\U000e0041\u2028✓\"\\\n\x1b", "html": "<&>"}
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := NewJSONWriter(&out)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); Text(got) != got || !strings.Contains(got, `\u202e`) || !strings.Contains(got, `\udb40\udc41`) {
		t.Errorf("%q", got)
	}
	var again map[string]string
	if err := json.Unmarshal(out.Bytes(), &again); err != nil || len(again) != 2 || again["a\u202e"] != value["a\u202e"] || again["html"] != value["html"] {
		t.Errorf("%v: %q", err, again)
	}
}

// FuzzText checks that nothing harmful passes, that escaping twice changes nothing more, and that the sizes of writes
// and the form of the output do not matter.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a\x1b[2J", "\u202e\u2066", "\xff\xe2\x82", "👩\u200d🔬", "\U000e0041", "\"\\u202e\""} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, size int) {
		got := Text(s)
		if !utf8.ValidString(got) {
			t.Errorf("%q becomes %q, which is no UTF-8", s, got)
		}
		for _, r := range got {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029') {
				t.Errorf("%q becomes %q", s, got)
			}
		}
		if again := Text(got); again != got {
			t.Errorf("%q becomes %q, and then %q", s, got, again)
		}
		if line := Line(s); strings.ContainsAny(line, "\n\t") || Line(line) != line {
			t.Errorf("%q becomes %q", s, line)
		}
		var out, js bytes.Buffer
		w, j := NewWriter(&out), NewJSONWriter(&js)
		if size = min(max(size, 1), 16); len(s) > 0 {
			for rest := []byte(s); len(rest) > 0; {
				n := min(size, len(rest))
				if _, err := w.Write(rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
		}
		if err := w.Flush(); err != nil || out.String() != got {
			t.Errorf("%q in writes of %d becomes %q, want %q", s, size, out.String(), got)
		}
		quoted, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Write(quoted); err != nil {
			t.Fatal(err)
		}
		var before, after string
		if err := errors.Join(json.Unmarshal(quoted, &before), json.Unmarshal(js.Bytes(), &after)); err != nil || before != after || Text(js.String()) != js.String() {
			t.Errorf("%q becomes %q: %v", quoted, js.String(), err)
		}
	})
}
