package docker

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// service is what these tests read of a service of docker-compose.yml.
type service struct {
	Image    string
	Restart  string
	Init     bool
	Volumes  []string
	StopTime string `yaml:"stop_grace_period"`
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func services(t *testing.T) (all map[string]service, volumes []string) {
	t.Helper()
	var compose struct {
		Services map[string]service
		Volumes  map[string]any
	}
	if err := yaml.Unmarshal([]byte(read(t, "../docker-compose.yml")), &compose); err != nil {
		t.Fatal(err)
	}
	if len(compose.Services) < 8 {
		t.Fatalf("only %d services were found", len(compose.Services))
	}
	return compose.Services, slices.Sorted(maps.Keys(compose.Volumes))
}

// stores are the directories in which the services of an image keep data. The official images declare theirs as volumes.
func stores(image string) []string {
	switch {
	case strings.HasPrefix(image, "tacho:"):
		return []string{"/var/lib/tacho"}
	case strings.HasPrefix(image, "nats:"):
		return []string{"/data"}
	case strings.HasPrefix(image, "postgres:"):
		return []string{"/var/lib/postgresql/data"}
	}
	return nil
}

// What a container keeps outside of a named volume is gone with the next `down`; a volume without a name stays behind for ever.
func TestEveryServiceKeepsItsDataInANamedVolume(t *testing.T) {
	all, declared := services(t)
	var used []string
	for name, s := range all {
		if s.Restart == "" {
			continue // it runs once, and cmd/tacho tests that it keeps nothing
		}
		keeps := stores(s.Image)
		if len(keeps) == 0 {
			t.Errorf("%s: it is not known what %s keeps: add it to stores", name, s.Image)
		}
		mounted := map[string]string{}
		for _, v := range s.Volumes {
			from, to, _ := strings.Cut(v, ":")
			to, _, _ = strings.Cut(to, ":")
			mounted[to] = from
		}
		for _, dir := range keeps {
			if !slices.Contains(declared, mounted[dir]) {
				t.Errorf("%s keeps %s in %q, which is no named volume", name, dir, mounted[dir])
			}
			used = append(used, mounted[dir])
		}
	}
	slices.Sort(used)
	if !slices.Equal(used, declared) {
		t.Errorf("services use the volumes %q; declared are %q", used, declared)
	}
	for line := range strings.Lines(read(t, "../Dockerfile")) {
		if strings.HasPrefix(strings.TrimSpace(line), "VOLUME") {
			t.Errorf("%s gives each container that names no volume one without a name", strings.TrimSpace(line))
		}
	}
	if conf := read(t, "nats/common.conf"); !strings.Contains(conf, `store_dir: "/data"`) {
		t.Error("the nodes keep the log elsewhere than in /data")
	}
}

// The commands of jobs may leave processes behind, which belong to process 1 of the container then.
func TestCollectorsHaveAnInit(t *testing.T) {
	all, _ := services(t)
	for _, c := range collectors(t) {
		if s, ok := all[string(c.Name)]; !ok || !s.Init || s.StopTime == "" {
			t.Errorf("%s: %+v", c.Name, s)
		}
	}
}

// A proxy may show certificates of its own: what goes through it comes after they are believed.
func TestImagesBelieveTheCertificatesOfAProxy(t *testing.T) {
	_, build, _ := strings.Cut(read(t, "../Dockerfile"), "AS build")
	build, core, _ := strings.Cut(build, "AS core")
	const certificates = "COPY docker/certificates/ /usr/local/share/ca-certificates/\nRUN update-ca-certificates\n"
	believed, modules := strings.Index(build, certificates), strings.Index(build, "go mod download")
	if believed < 0 || modules < believed {
		t.Errorf("modules are fetched at %d, and certificates are believed at %d", modules, believed)
	}
	if !strings.Contains(core, certificates) {
		t.Error("the images do not believe them, and collectors fetch through the proxy too")
	}
	if !strings.Contains(read(t, "certificates/.gitignore"), "\n*\n") {
		t.Error("git takes the certificates of one machine")
	}
}

// docker/standins makes the images of a registry under the names that are used here.
func TestStandInsHaveTheNamesOfTheImages(t *testing.T) {
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^FROM (\S+:\S+)`).FindAllStringSubmatch(read(t, "../Dockerfile"), -1) {
		want = append(want, m[1])
	}
	all, _ := services(t)
	for _, s := range all {
		if !strings.HasPrefix(s.Image, "tacho:") {
			want = append(want, s.Image)
		}
	}
	slices.Sort(want)
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^\w+=docker\.io/library/(\S+)$`).FindAllStringSubmatch(read(t, "standins"), -1) {
		got = append(got, m[1])
	}
	slices.Sort(got)
	if want = slices.Compact(want); !slices.Equal(got, want) {
		t.Errorf("stand-ins are made for %q; used are %q", got, want)
	}
}
