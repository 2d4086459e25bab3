package tlsfiles

import (
	"bytes"
	"crypto/x509"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tachobench/tacho/internal/tlstest"
)

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t *testing.T, file string, text []byte) string {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A pair that cannot be used is refused. The error names its file, its certificate and what to do.
func TestAPairThatCannotBeUsedIsExplained(t *testing.T) {
	ca := tlstest.NewCA(t, "bench CA")
	good, other := ca.Issue(tlstest.Leaf{Name: "good"}), ca.Issue(tlstest.Leaf{Name: "other"})
	text := func(name, content string) string {
		return write(t, filepath.Join(t.TempDir(), name), []byte(content))
	}
	bundle := write(t, filepath.Join(t.TempDir(), "bundle.pem"), append(read(t, ca.File), read(t, good.Cert)...))
	damaged := strings.Replace(string(read(t, good.Cert)), "M", "N", 1)
	closed := write(t, filepath.Join(t.TempDir(), "closed.pem"), read(t, good.Key))
	for name, tc := range map[string]struct {
		cert, key string
		want      []string
	}{
		"no file":         {good.Cert + "x", good.Key, []string{"cert.pemx does not exist", "check the name"}},
		"a directory":     {filepath.Dir(good.Cert), good.Key, []string{"the certificate cannot be read"}},
		"not a pair":      {good.Cert, other.Key, []string{other.Key, good.Cert, "subject CN=good", "issued by CN=bench CA", "for localhost, 127.0.0.1", "valid from", "made together"}},
		"wrong order":     {bundle, good.Key, []string{"but to (subject CN=good", "put that one first"}},
		"swapped":         {good.Key, good.Cert, []string{`no certificate but "PRIVATE KEY"`, "name the file with the certificate"}},
		"cert as key":     {good.Cert, good.Cert, []string{`no private key but "CERTIFICATE"`, "name the file with the key"}},
		"no PEM":          {text("a", "hello"), good.Key, []string{"no certificate in PEM", "-----BEGIN CERTIFICATE-----"}},
		"no key":          {good.Cert, text("a", "hello"), []string{"no private key in PEM"}},
		"empty":           {text("a", "\n"), good.Key, []string{"is empty"}},
		"binary":          {text("a", "0\x82\x01\x00"), good.Key, []string{"openssl x509 -inform der"}},
		"binary key":      {good.Cert, text("a", "0\x82\x01\x00"), []string{"openssl pkey -inform der"}},
		"damaged":         {text("a", damaged), good.Key, []string{"certificate 1 in", "damaged"}},
		"passphrase":      {good.Cert, text("a", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"), []string{"has a passphrase", "openssl pkey"}},
		"expired":         {"", "", []string{"subject CN=old", "expired on", "get a new one"}},
		"not yet valid":   {"", "", []string{"subject CN=young", "is not valid before", "clock"}},
		"not a directory": {good.Cert, closed + "/x", []string{"the private key cannot be read"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := tlstest.Pair{Cert: tc.cert, Key: tc.key}
			switch name {
			case "expired":
				p = ca.Issue(tlstest.Leaf{Name: "old", From: -2 * time.Hour, To: -time.Hour})
			case "not yet valid":
				p = ca.Issue(tlstest.Leaf{Name: "young", From: time.Hour, To: 2 * time.Hour})
			}
			_, err := OpenPair(p.Cert, p.Key, nil)
			if err == nil {
				t.Fatal("it is taken")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q in it", err, want)
				}
			}
		})
	}
}

// A pair is read again when its files change. The old one stays in use while the new files cannot be used.
func TestAPairFollowsItsFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := tlstest.NewCA(t, "bench CA")
		files := ca.Issue(tlstest.Leaf{Name: "first"})
		var log bytes.Buffer
		p, err := OpenPair(files.Cert, files.Key, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		shows := func(want string, warnings int) {
			t.Helper()
			if got := p.Current().Leaf.Subject.CommonName; got != want {
				t.Errorf("shows %q, want %q", got, want)
			}
			if got := strings.Count(log.String(), "level=WARN"); got != warnings {
				t.Errorf("%d warnings, want %d:\n%s", got, warnings, log.String())
			}
		}
		next := func() { time.Sleep(lookEvery) }
		var followed []string
		p.Follow(func(text string) { followed = append(followed, text) })

		ca.IssueTo(files, tlstest.Leaf{Name: "second"})
		shows("first", 0) // the files were already checked in this second
		next()
		shows("second", 0)

		// The key comes some seconds after the certificate.
		third := ca.Issue(tlstest.Leaf{Name: "the third"})
		write(t, files.Cert, read(t, third.Cert))
		for range 3 {
			next()
			shows("second", 1)
		}
		write(t, files.Key, read(t, third.Key))
		next()
		shows("the third", 1)

		// Half a file, no file, an expired certificate: each is reported once.
		write(t, files.Cert, read(t, third.Cert)[:100])
		for range 2 {
			next()
			shows("the third", 2)
		}
		if err := os.Remove(files.Cert); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			next()
			shows("the third", 3)
		}
		ca.IssueTo(files, tlstest.Leaf{Name: "old", From: -2 * time.Hour, To: -time.Hour})
		for range 2 {
			next()
			shows("the third", 4)
		}
		ca.IssueTo(files, tlstest.Leaf{Name: "fourth"})
		next()
		shows("fourth", 4)

		if len(followed) != 4 || followed[3] != string(read(t, files.Cert)) {
			t.Errorf("%d certificates were followed", len(followed))
		}

		// A certificate that was not renewed in time is reported and shown: there is no better one.
		time.Sleep(2 * time.Hour)
		shows("fourth", 5)
		next()
		shows("fourth", 5)
		if !strings.Contains(log.String(), "the certificate in use has expired") {
			t.Error(log.String())
		}
	})
}

func TestAuthoritiesFollowTheirFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := tlstest.NewCA(t, "one"), tlstest.NewCA(t, "two")
		a, err := OpenAuthorities(nil, one.File)
		if err != nil {
			t.Fatal(err)
		}
		first := a.Pool()
		write(t, one.File, []byte("broken"))
		time.Sleep(lookEvery)
		if !a.Pool().Equal(first) {
			t.Error("a broken file replaces a good one")
		}
		write(t, one.File, read(t, two.File))
		time.Sleep(lookEvery)
		if a.Pool().Equal(first) {
			t.Error("the new CA is not taken")
		}
	})
}

func TestAuthoritiesThatCannotBeUsedAreExplained(t *testing.T) {
	old := tlstest.SelfSigned(t, tlstest.In(t.TempDir()), tlstest.Leaf{Name: "old", From: -2 * time.Hour, To: -time.Hour})
	for name, tc := range map[string]struct{ file, want string }{
		"expired": {old.Cert, "(subject CN=old; for localhost, 127.0.0.1; self-signed; valid from"},
		"a key":   {old.Key, `no certificate but "PRIVATE KEY"`},
		"nothing": {old.Key + "x", "the CA file"},
	} {
		if _, err := OpenAuthorities(nil, tc.file); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParseAuthorities("the field ca", ""); err == nil || !strings.Contains(err.Error(), "the field ca is empty") {
		t.Error(err)
	}
	// One valid certificate among expired ones is enough.
	ca := tlstest.NewCA(t, "good")
	both := write(t, filepath.Join(t.TempDir(), "both"), append(read(t, old.Cert), read(t, ca.File)...))
	for _, files := range [][]string{{both}, {old.Key + "x", ca.File}, {ca.File, old.Cert}} {
		if _, err := OpenAuthorities(nil, files...); err != nil {
			t.Error(err)
		}
	}
	if _, err := OpenAuthorities(nil, old.Cert, old.Key); err == nil || !strings.Contains(err.Error(), "expired on") || !strings.Contains(err.Error(), "PRIVATE KEY") {
		t.Error(err)
	}
}

// A collector on another machine gets the root if the file has it, so that its trust outlasts a renewal.
func TestTrust(t *testing.T) {
	ca := tlstest.NewCA(t, "root")
	leaf := ca.Issue(tlstest.Leaf{Name: "leaf"})
	chain := write(t, filepath.Join(t.TempDir(), "chain"), append(read(t, leaf.Cert), read(t, ca.File)...))
	for file, want := range map[string]string{chain: ca.File, leaf.Cert: leaf.Cert, ca.File: ca.File} {
		got, err := Trust(file)
		if err != nil || got != string(read(t, want)) {
			t.Errorf("%s: %v\n%s", file, err, got)
		}
	}
	if _, err := Trust(leaf.Key); err == nil {
		t.Error("a key is taken for a certificate")
	}
}

func TestNamesOfACertificate(t *testing.T) {
	ca := tlstest.NewCA(t, "root")
	for _, tc := range []struct {
		hosts []string
		name  string
	}{
		{[]string{"bench.example.org", "10.0.0.5"}, "bench.example.org"},
		{[]string{"*.example.org"}, "tacho.example.org"},
		{[]string{"10.0.0.5"}, "10.0.0.5"},
		{[]string{}, ""},
	} {
		files := ca.Issue(tlstest.Leaf{Name: "x", Hosts: tc.hosts})
		p, err := OpenPair(files.Cert, files.Key, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Name(); got != tc.name || got != "" && !p.Fits(got) {
			t.Errorf("%v: %q", tc.hosts, got)
		}
	}
}

// FuzzPair checks that no content of files breaks the program: a pair is read, or refused in words.
func FuzzPair(f *testing.F) {
	ca := tlstest.NewCA(f, "root")
	leaf := ca.Issue(tlstest.Leaf{Name: "leaf"})
	for _, file := range []string{leaf.Cert, leaf.Key, ca.File} {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, text)
		f.Add(append(text, text...), []byte("0\x82"))
	}
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"), []byte("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n-----END RSA PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, cert, key []byte) {
		pair, err := pairOf("c", cert, "k", key, time.Now())
		if (pair == nil) == (err == nil) || err != nil && err.Error() == "" {
			t.Errorf("%v, %v", pair, err)
		}
		if err := addTo(x509.NewCertPool(), "c", cert, time.Now()); err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
	})
}
