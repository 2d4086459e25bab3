package poller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
)

// Manifests are the releases in a list of channel manifests, such as https://static.rust-lang.org/manifests.txt.
type Manifests struct {
	HTTP *http.Client
	URL  string
}

// Newest implements Source.
func (m Manifests) Newest(ctx context.Context) iter.Seq2[Artifact, error] {
	return releases(ctx, m.HTTP, m.URL, parseManifests)
}

// GoVersions are the toolchain releases of Go: from a list like that of https://go.dev/dl/?mode=json&include=all, or
// from a module proxy's list of the versions of the module golang.org/toolchain.
type GoVersions struct {
	HTTP *http.Client
	URL  string
	// Candidates includes release candidates and betas.
	Candidates bool
}

// Newest implements Source.
func (g GoVersions) Newest(ctx context.Context) iter.Seq2[Artifact, error] {
	return releases(ctx, g.HTTP, g.URL, func(text []byte) ([]Artifact, error) { return parseGoVersions(text, g.Candidates) })
}

// releases yields the releases that parse finds at a URL. A list without any release is an error.
func releases(ctx context.Context, c *http.Client, url string, parse func([]byte) ([]Artifact, error)) iter.Seq2[Artifact, error] {
	text, err := get(ctx, c, url)
	if err != nil {
		return one(err)
	}
	found, err := parse(text)
	if err == nil && len(found) == 0 {
		err = errors.New("it names no release: check that it is a list of releases")
	}
	if err != nil {
		return one(fmt.Errorf("read %s: %w", clean(url), err))
	}
	return all(found)
}

var (
	manifestLine = regexp.MustCompile(`/([0-9]{4}-[0-9]{2}-[0-9]{2})/channel-rust-([^/]+)\.toml$`)
	threeParts   = regexp.MustCompile(`^[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}$`)
)

// parseManifests returns the releases in a list of manifests, the newest first: versions of three parts, and the
// rolling beta of each date. It leaves out nightlies, numbered betas and everything else in the list.
func parseManifests(text []byte) ([]Artifact, error) {
	dates := map[events.Tag]string{}
	for line := range strings.Lines(string(text)) {
		m := manifestLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		date, channel := m[1], m[2]
		if _, err := time.Parse(time.DateOnly, date); err != nil {
			continue
		}
		tag := events.Tag(channel)
		switch {
		case channel == "beta":
			tag = events.Tag("beta-" + date)
		case !threeParts.MatchString(channel):
			continue
		}
		// A manifest that was published more than once counts as the release of its first date.
		if known, ok := dates[tag]; !ok || date < known {
			dates[tag] = date
		}
	}
	out := make([]Artifact, 0, len(dates))
	for tag, date := range dates {
		out = append(out, Artifact{Kind: events.Release, Tag: tag, ReleasedOn: date})
	}
	slices.SortFunc(out, func(a, b Artifact) int {
		return cmp.Or(strings.Compare(b.ReleasedOn, a.ReleasedOn), slices.Compare(numbers(string(b.Tag)), numbers(string(a.Tag))),
			strings.Compare(string(b.Tag), string(a.Tag)))
	})
	return out, nil
}

var goVersion = regexp.MustCompile(`^go1(?:\.[0-9]{1,9}){0,2}(?:(rc|beta)[0-9]{1,9})?$`)

// parseGoVersions returns the releases of Go in a list of either form, the newest first. Neither form has dates.
func parseGoVersions(text []byte, candidates bool) ([]Artifact, error) {
	names, err := goNames(text)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out []Artifact
	for _, name := range names {
		m := goVersion.FindStringSubmatch(name)
		if m == nil || m[1] != "" && !candidates || seen[name] {
			continue
		}
		seen[name] = true
		out = append(out, Artifact{Kind: events.Release, Tag: events.Tag(name)})
	}
	slices.SortFunc(out, func(a, b Artifact) int {
		return cmp.Or(compareGo(string(b.Tag), string(a.Tag)), strings.Compare(string(b.Tag), string(a.Tag)))
	})
	return out, nil
}

// goNames returns the names in a list. Those of the proxy each have a platform, such as
// "v0.0.1-go1.25.3.linux-amd64".
func goNames(text []byte) ([]string, error) {
	var names []string
	if strings.HasPrefix(strings.TrimSpace(string(text)), "[") {
		var listed []struct {
			Version string `json:"version"`
		}
		if err := json.Unmarshal(text, &listed); err != nil {
			return nil, fmt.Errorf("the list of Go releases: %w", err)
		}
		for _, l := range listed {
			names = append(names, l.Version)
		}
		return names, nil
	}
	for line := range strings.Lines(string(text)) {
		_, name, ok := strings.Cut(strings.TrimSpace(line), "-")
		platform := strings.LastIndexByte(name, '.')
		if ok && platform > 0 && strings.Contains(name[platform:], "-") {
			names = append(names, name[:platform])
		}
	}
	return names, nil
}

// compareGo orders names of Go releases: go1.25 < go1.25.3, and betas and candidates before their release.
func compareGo(a, b string) int {
	x, y := goParts(a), goParts(b)
	return cmp.Or(slices.Compare(x.version, y.version), strings.Compare(x.stage, y.stage), cmp.Compare(x.number, y.number))
}

type goRelease struct {
	version []int
	// stage is "beta", "rc" or "release", which is the last in order. number is the number of the stage.
	stage  string
	number int
}

func goParts(name string) goRelease {
	r := goRelease{stage: "release"}
	name = strings.TrimPrefix(name, "go")
	for _, stage := range []string{"beta", "rc"} {
		if version, number, ok := strings.Cut(name, stage); ok {
			name, r.stage = version, stage
			if n := numbers(number); len(n) > 0 {
				r.number = n[0]
			}
		}
	}
	r.version = numbers(name)
	return r
}

// numbers returns the numbers in a name, in order.
func numbers(name string) []int {
	var out []int
	for _, digits := range strings.FieldsFunc(name, func(r rune) bool { return r < '0' || r > '9' }) {
		n, err := strconv.Atoi(digits)
		if err != nil {
			return out
		}
		out = append(out, n)
	}
	return out
}
