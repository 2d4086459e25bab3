package supervisor

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/tachobench/tacho/internal/checksum"
	"github.com/tachobench/tacho/internal/retry"
)

const (
	// downloadWithin bounds one download. retryFor bounds the tries after errors that may go away: the machine is idle
	// meanwhile.
	downloadWithin = 10 * time.Minute
	retryFor       = 30 * time.Second
	// mostBytes bounds a download and what is unpacked from it.
	mostBytes = 1 << 30
)

// Download fetches versions from a web server. The SHA-256 of each file is at the same URL with ".sha256".
type Download struct {
	// Template is the URL with {version}, {os} and {arch}, the last two as Go names them. The file is the program itself, or
	// a .tar.gz, .tgz or .zip that holds it as tacho.
	Template string
	Client   *http.Client
}

// String implements Source.
func (d Download) String() string { return withoutSecrets(d.Template) }

// withoutSecrets returns a URL that may be shown: without user and password, and without its query.
func withoutSecrets(text string) string {
	rest, _, _ := strings.Cut(text, "?")
	scheme, after, ok := strings.Cut(rest, "://")
	if !ok {
		return rest
	}
	host, path, _ := strings.Cut(after, "/")
	return scheme + "://" + host[strings.LastIndexByte(host, '@')+1:] + "/" + path
}

// CheckTemplate returns what is wrong with a template for a Download.
func CheckTemplate(template string) error {
	u, err := url.Parse(strings.NewReplacer("{version}", "v", "{os}", "o", "{arch}", "a").Replace(template))
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("%s is not an http or https URL", withoutSecrets(template))
	case !strings.Contains(template, "{version}"):
		return fmt.Errorf("%s does not contain {version}", withoutSecrets(template))
	}
	return nil
}

// Get implements Source.
func (d Download) Get(ctx context.Context, version, work string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, downloadWithin)
	defer cancel()
	from := strings.NewReplacer("{version}", url.PathEscape(version), "{os}", runtime.GOOS, "{arch}", runtime.GOARCH).Replace(d.Template)
	file := filepath.Join(work, "download")
	policy := retry.Pauses(500*time.Millisecond, 10*time.Second)
	policy.MaxElapsedTime = retryFor
	if err := backoff.Retry(func() error { return d.fetch(ctx, from, file) }, backoff.WithContext(policy, ctx)); err != nil {
		return "", err
	}
	return unpack(from, file, filepath.Join(work, programName))
}

// fetch downloads one file and compares it with its checksum. An error that another try cannot mend is permanent.
func (d Download) fetch(ctx context.Context, from, file string) error {
	want, err := d.checksum(ctx, checksum.URL(from))
	if err != nil {
		return err
	}
	body, err := d.get(ctx, from)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // it was only read
	f, err := os.Create(file)
	if err != nil {
		return backoff.Permanent(err)
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(body, mostBytes+1))
	// An error of the disk shows in the close, or when the file is unpacked.
	closed := f.Close()
	switch {
	case err != nil:
		return fmt.Errorf("download %s: %w", withoutSecrets(from), err)
	case closed != nil:
		return backoff.Permanent(closed)
	case n > mostBytes:
		return backoff.Permanent(fmt.Errorf("%s is larger than %d bytes", withoutSecrets(from), mostBytes))
	case hex.EncodeToString(sum.Sum(nil)) != want:
		return backoff.Permanent(fmt.Errorf("%s is not what its checksum says: its SHA-256 is %x", withoutSecrets(from), sum.Sum(nil)))
	}
	return nil
}

// checksum returns the first word of a file of checksums, as sha256sum writes it.
func (d Download) checksum(ctx context.Context, from string) (string, error) {
	body, err := d.get(ctx, from)
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }() // it was only read
	sum, err := checksum.Read(body)
	switch {
	case err != nil:
		return "", fmt.Errorf("download %s: %w", withoutSecrets(from), err)
	case sum == "":
		return "", backoff.Permanent(fmt.Errorf("%s does not begin with a SHA-256", withoutSecrets(from)))
	}
	return sum, nil
}

func (d Download) get(ctx context.Context, from string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	client := d.Client
	if client == nil {
		client = http.DefaultClient
	}
	answer, err := client.Do(r)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // without the URL, which may hold a password
		}
		return nil, fmt.Errorf("ask for %s: %w", withoutSecrets(from), err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer.Body, nil
	}
	err = errors.Join(fmt.Errorf("%s: the server answers %s", withoutSecrets(from), answer.Status), answer.Body.Close())
	if answer.StatusCode < 500 && answer.StatusCode != http.StatusTooManyRequests {
		err = backoff.Permanent(err)
	}
	return nil, err
}

// unpack takes the program out of a downloaded file and returns its path. The URL tells the form of the file.
func unpack(from, file, to string) (string, error) {
	name, _, _ := strings.Cut(from, "?")
	switch {
	case strings.HasSuffix(name, ".tar.gz"), strings.HasSuffix(name, ".tgz"):
		return to, fromTar(file, to)
	case strings.HasSuffix(name, ".zip"):
		return to, fromZip(file, to)
	}
	return file, nil
}

func fromTar(file, to string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("the archive is damaged: %w", err)
	}
	for archive := tar.NewReader(z); ; {
		h, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return errNoProgram
		case err != nil:
			return fmt.Errorf("the archive is damaged: %w", err)
		case h.Typeflag == tar.TypeReg && path.Base(h.Name) == programName:
			return writeProgram(to, archive)
		}
	}
}

func fromZip(file, to string) error {
	archive, err := zip.OpenReader(file)
	if err != nil {
		return fmt.Errorf("the archive is damaged: %w", err)
	}
	defer func() { _ = archive.Close() }() // it was only read
	for _, entry := range archive.File {
		if entry.Mode().IsRegular() && path.Base(entry.Name) == programName {
			content, err := entry.Open()
			if err != nil {
				return fmt.Errorf("the archive is damaged: %w", err)
			}
			return errors.Join(writeProgram(to, content), content.Close())
		}
	}
	return errNoProgram
}

var errNoProgram = errors.New("the archive holds no program tacho")

// writeProgram writes a program of at most mostBytes.
func writeProgram(to string, content io.Reader) error {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(content, mostBytes+1))
	if n > mostBytes {
		err = fmt.Errorf("the program in the archive is larger than %d bytes", mostBytes)
	}
	return errors.Join(err, f.Close())
}
