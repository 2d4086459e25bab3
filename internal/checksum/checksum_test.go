package checksum_test

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tachobench/tacho/internal/checksum"
)

func TestURL(t *testing.T) {
	for file, want := range map[string]string{"http://a/b.tar": "http://a/b.tar.sha256", "http://a/b?k=v?w": "http://a/b.sha256?k=v?w"} {
		if got := checksum.URL(file); got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
}

func TestRead(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	for text, want := range map[string]string{
		sum: sum, sum + "  b.tar\n": sum, strings.ToUpper(sum) + "\n": sum, "\n" + sum + " *b.tar": sum,
		"": "", "<html>": "", sum[2:]: "", sum + "0a": "", "b.tar " + sum: "", strings.Repeat(" ", 5000) + sum: "",
	} {
		if got, err := checksum.Read(strings.NewReader(text)); got != want || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	broken := errors.New("broken")
	if _, err := checksum.Read(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("")
	f.Add(strings.Repeat("0A", 32) + "  tacho\n")
	f.Fuzz(func(t *testing.T, text string) {
		sum, err := checksum.Read(strings.NewReader(text))
		if err != nil || sum != "" && (len(sum) != 64 || !strings.Contains(strings.ToLower(text), sum)) {
			t.Errorf("%q gives %q, %v", text, sum, err)
		}
	})
}
