package poller

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

const manifests = `static.rust-lang.org/dist/2014-12-18/channel-rust-nightly.toml
static.rust-lang.org/dist/2025-05-15/channel-rust-1.87.0.toml
static.rust-lang.org/dist/2025-05-15/channel-rust-1.87.toml
static.rust-lang.org/dist/2025-05-15/channel-rust-stable.toml
static.rust-lang.org/dist/2025-06-26/channel-rust-1.88.0.toml
static.rust-lang.org/dist/2025-06-26/channel-rust-1.89.0-beta.1.toml
static.rust-lang.org/dist/2025-06-26/channel-rust-beta.toml
static.rust-lang.org/dist/2025-06-27/channel-rust-beta.toml
static.rust-lang.org/dist/2025-06-27/channel-rust-1.88.0.toml
static.rust-lang.org/dist/2025-06-27/channel-rust-nightly.toml
static.rust-lang.org/dist/2025-02-30/channel-rust-1.0.0.toml
static.rust-lang.org/dist/2019-12-19/channel-rust-1.9.0.toml
static.rust-lang.org/dist/2019-12-19/channel-rust-1.40.0.toml

nonsense
`

func release(tag events.Tag, date string) Artifact {
	return Artifact{Kind: events.Release, Tag: tag, ReleasedOn: date}
}

func TestReleasesOfManifests(t *testing.T) {
	got, err := parseManifests([]byte(manifests))
	if err != nil {
		t.Fatal(err)
	}
	want := []Artifact{
		release("beta-2025-06-27", "2025-06-27"), release("beta-2025-06-26", "2025-06-26"), release("1.88.0", "2025-06-26"),
		release("1.87.0", "2025-05-15"), release("1.40.0", "2019-12-19"), release("1.9.0", "2019-12-19"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	windows, err := parseManifests([]byte(strings.ReplaceAll(manifests, "\n", "\r\n")))
	if err != nil || !cmp.Equal(want, windows) {
		t.Errorf("%v %v", windows, err)
	}
}

func TestVersionsOfGo(t *testing.T) {
	for name, list := range map[string]string{
		"download page": `[{"version":"go1.26.0","stable":true,"files":[]},{"version":"go1.27rc1","stable":false},{"version":"go1.9.7","stable":true},
			{"version":"go1.25.10","stable":true},{"version":"go1.25.9","stable":true},{"version":"go1.27rc2"},{"version":"go1.27beta1"},{"version":"go1.20"},{"version":"x"},{}]`,
		"module proxy": "v0.0.1-go1.9.7.linux-amd64\nv0.0.1-go1.25.9.linux-amd64\nv0.0.1-go1.25.9.darwin-arm64\nv0.0.1-go1.25.10.linux-arm64\n" +
			"v0.0.1-go1.26.0.windows-amd64\nv0.0.1-go1.27rc1.linux-amd64\nv0.0.1-go1.27rc2.linux-amd64\nv0.0.1-go1.27beta1.linux-amd64\nv0.0.1-go1.20.linux-amd64\nv9\n\n",
	} {
		for candidates, want := range map[bool]string{
			false: "[go1.26.0 go1.25.10 go1.25.9 go1.20 go1.9.7]",
			true:  "[go1.27rc2 go1.27rc1 go1.27beta1 go1.26.0 go1.25.10 go1.25.9 go1.20 go1.9.7]",
		} {
			got, err := parseGoVersions([]byte(list), candidates)
			if err != nil || fmt.Sprint(tags(got)) != want {
				t.Errorf("%s: %v %v, want %s", name, tags(got), err, want)
			}
		}
	}
}

func TestListsOfReleasesAreReadAndReadAgain(t *testing.T) {
	full, unchanged := 0, 0
	status := http.StatusOK
	text := manifests
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch modified := "Thu, 26 Jun 2025 10:00:00 GMT"; {
		case status != http.StatusOK:
			w.WriteHeader(status)
		case r.Header.Get("If-Modified-Since") == modified:
			unchanged++
			w.WriteHeader(http.StatusNotModified)
		default:
			full++
			w.Header().Set("Last-Modified", modified)
			fmt.Fprint(w, text)
		}
	}))
	defer server.Close()
	client := NewClient(NewTransport(http.DefaultTransport, time.Now))
	from := Manifests{HTTP: client, URL: server.URL + "/manifests.txt"}
	for range 3 {
		if got, err := take(t, from); err != nil || len(got) != 6 {
			t.Fatalf("%v %v", got, err)
		}
	}
	if full != 1 || unchanged != 2 {
		t.Errorf("%d answers in full and %d unchanged", full, unchanged)
	}
	text = "<html>Please log in</html>"
	for _, from := range []Source{Manifests{HTTP: client, URL: server.URL + "/other"}, GoVersions{HTTP: client, URL: server.URL + "/go"}} {
		if _, err := take(t, from); err == nil || !strings.Contains(err.Error(), "names no release") {
			t.Errorf("a list of nothing: %v", err)
		}
	}
	status = http.StatusBadGateway
	if _, err := take(t, from); err == nil || !strings.Contains(err.Error(), "502") {
		t.Errorf("a fault: %v", err)
	}
}

// For any list, each release in it can be requested, once.
func checkReleases(t *testing.T, found []Artifact) {
	seen := map[events.Tag]bool{}
	for _, a := range found {
		if events.CheckTag(a.Tag) != nil || seen[a.Tag] || a.Kind != events.Release {
			t.Errorf("%+v is no release, or stands there twice", a)
		}
		seen[a.Tag] = true
		if _, err := time.Parse(time.DateOnly, a.ReleasedOn); a.ReleasedOn != "" && err != nil {
			t.Errorf("%s: %v", a.Tag, err)
		}
	}
}

func FuzzManifests(f *testing.F) {
	f.Add([]byte(manifests))
	f.Add([]byte("/2025-06-26/channel-rust-999999999.999999999.999999999.toml"))
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := parseManifests(text)
		if err != nil {
			t.Fatal(err)
		}
		checkReleases(t, found)
	})
}

func FuzzGoVersions(f *testing.F) {
	f.Add([]byte(`[{"version":"go1.26.0"},{"version":"go1.27rc1"}]`), true)
	f.Add([]byte("v0.0.1-go1.25.9.linux-amd64\nv0.0.1-go1.25.10.linux-arm64\n"), false)
	f.Fuzz(func(t *testing.T, text []byte, candidates bool) {
		found, err := parseGoVersions(text, candidates)
		if err == nil {
			checkReleases(t, found)
		}
	})
}
