package suite

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// The kinds of artifact.
const (
	ArtifactGoToolchain = "go-toolchain"
	ArtifactURL         = "url"
	ArtifactGit         = "git"
	ArtifactPath        = "path"
	ArtifactBuilt       = "built"
)

func (c *checker) artifact(d Definitions) {
	a := d.Artifact
	c.reference("artifact.kind", "artifact.kind", a.Kind, []string{ArtifactGoToolchain, ArtifactURL, ArtifactGit, ArtifactPath, ArtifactBuilt})
	c.reference("artifact.driver", "driver", a.Driver, []string{DriverGoBuild, DriverRust, DriverCommand})
	if a.Probe != nil && len(a.Probe) == 0 || len(a.Probe) > 0 && (path.IsAbs(a.Probe[0]) || a.Probe[0] == "") {
		c.report("artifact.probe", "artifact.probe must begin with a command relative to the artifact, such as \"bin/go\"")
	}
	for _, f := range []struct {
		key, kind string
		given     bool
		needed    bool
	}{
		{"path", ArtifactPath, len(a.Path) > 0, true},
		{"urls", ArtifactURL, len(a.URLs) > 0, true},
		{"channels", ArtifactURL, len(a.Channels) > 0, mentions(a.URLs, "{channel}")},
		{"components", ArtifactURL, len(a.Components) > 0, mentions(a.URLs, "{component}")},
		{"no_target", ArtifactURL, len(a.NoTarget) > 0, false},
		{"repository", ArtifactGit, a.Repository != "", true},
		{"build", ArtifactGit, len(a.Build) > 0, true},
	} {
		at := join("artifact", f.key)
		local := f.key == "path" && a.Kind == ArtifactURL // an artifact that is already on the machine is not fetched
		of := f.kind
		if f.key == "repository" && a.Kind == ArtifactBuilt { // the builds are of its commits
			of = a.Kind
		}
		if a.Kind != of && f.given && !local {
			c.report(at, "%s is only for artifacts of kind %q, but this is of kind %q: remove it", at, f.kind, a.Kind)
		}
		if a.Kind == of && f.needed && !f.given {
			c.report(at, "%s is missing: artifacts of kind %q need it", at, f.kind)
		}
	}
	c.templates("artifact.path", a.Path, "{tag}", "{target}")
	for i, p := range a.Path {
		if rest, home := strings.CutPrefix(p, "~"); !path.IsAbs(p) && (!home || rest != "" && rest[0] != '/') {
			c.report(index("artifact.path", i), "path %q is relative, and the collector that looks for it has no directory for that: write a whole path, such as \"/opt/{tag}\", or one below the home directory, such as \"~/{tag}\"", p)
		}
	}
	c.templates("artifact.urls", a.URLs, "{tag}", "{component}", "{channel}", "{target}")
	for i, u := range a.URLs {
		c.url(index("artifact.urls", i), u)
	}
	// Any job may be the one that builds an artifact. One whose kind lacks the cache gets an empty directory.
	c.cacheFields("artifact.build", a.Build, d.Kinds...)
	c.components(d)
	c.built(d)
}

// components checks that no_target names components that some job needs.
func (c *checker) components(d Definitions) {
	all := slices.Clone(d.Artifact.Components)
	for i, b := range d.Backends {
		c.unneeded(join(index("backend", i), "components"), d, b.Components)
		all = append(all, b.Components...)
	}
	for i, p := range d.Profiles {
		c.unneeded(join(index("profile", i), "components"), d, p.Components)
		all = append(all, p.Components...)
	}
	if len(all) > 0 {
		c.references("artifact.no_target", "component", d.Artifact.NoTarget, all)
	}
}

func (c *checker) unneeded(path string, d Definitions, components []string) {
	if len(components) > 0 && d.Artifact.Kind != ArtifactURL {
		c.report(path, "components are only for artifacts of kind %q, but these are of kind %q: remove them", ArtifactURL, d.Artifact.Kind)
	}
}

// url checks the address that a template gives for plain values.
func (c *checker) url(path, template string) {
	u, err := url.Parse(field.ReplaceAllString(template, "x"))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		c.report(path, "URL %q: use a whole http or https address", template)
	}
}

var field = regexp.MustCompile(`\{[^{}]*\}`)

// templates checks that the only fields in braces in the texts are the known ones.
func (c *checker) templates(path string, texts []string, known ...string) {
	for i, text := range texts {
		if text == "" {
			c.report(index(path, i), "%s has an empty entry: remove it", path)
		}
		for _, f := range field.FindAllString(text, -1) {
			if !slices.Contains(known, f) {
				c.report(index(path, i), "unknown field %s: use %s", f, either(known))
			}
		}
		if rest := field.ReplaceAllString(text, ""); strings.ContainsAny(rest, "{}") {
			c.report(index(path, i), "%q has an unmatched brace", text)
		}
	}
}

func mentions(texts []string, field string) bool {
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, field) })
}
