package suite

import (
	"slices"
	"strings"
)

// The bounds of what a kind builds and keeps.
const (
	maxTokens  = 4096
	maxOutputs = 16
	maxGlobs   = 64
	maxTrees   = 16
	maxRetries = 100
)

// The revisions of a checkout that depend on the request.
const (
	revisionTag    = "{tag}"
	revisionParent = "{parent}"
)

// build checks what kinds have that build, or run commands.
func (c *checker) build(path string, d Definitions, k Kind) {
	if at := join(path, "tokens"); k.Tokens != (Tokens{}) || c.has(at) {
		t := k.Tokens
		switch {
		case t.Min < 1:
			c.report(join(at, "min"), "tokens of kind %q have min = %d: a job uses at least 1 CPU", k.Name, t.Min)
		case t.Max != 0 && t.Max < t.Min || t.Max == 0 && c.has(join(at, "max")):
			c.report(join(at, "max"), "tokens of kind %q have max = %d below min = %d: correct one of them, or remove max", k.Name, t.Max, t.Min)
		case max(t.Min, t.Max) > maxTokens:
			c.report(at, "tokens of kind %q are %d CPUs: use at most %d", k.Name, max(t.Min, t.Max), maxTokens)
		}
	}
	if at := join(path, "retries"); k.Retries < 0 || k.Retries > maxRetries {
		c.report(at, "retries of kind %q is %d: use 1 to %d, or remove it to try again until collector.transient_deadline has passed", k.Name, k.Retries, maxRetries)
	} else if k.Retries > 0 && len(k.Success.RetryExit) == 0 {
		c.report(at, "kind %q has retries, and no command can ask for another try: add success = { retry_exit = [75] }, or remove retries", k.Name)
	}
	c.checkouts(join(path, "checkouts"), k)
	if !k.Builds() {
		return
	}
	if len(k.Outputs) == 0 {
		c.report(join(path, "outputs"), "kind %q has does = %q and no outputs: write what it yields, such as outputs = [{ name = \"program\", paths = [\"dist/**\"] }]", k.Name, k.Does)
	}
	if a := d.Artifact; a.Kind != ArtifactGit && a.Kind != ArtifactBuilt {
		c.report(join(path, "does"), "kind %q builds a commit, and artifacts of kind %q have none: use [artifact] kind = %q or %q with a repository", k.Name, a.Kind, ArtifactBuilt, ArtifactGit)
	}
}

// checkouts checks the trees that jobs get beside that of their artifact.
func (c *checker) checkouts(path string, k Kind) {
	if len(k.Checkouts) > maxTrees {
		c.report(path, "kind %q has %d checkouts: use at most %d", k.Name, len(k.Checkouts), maxTrees)
	}
	for i, o := range k.Checkouts {
		at := index(path, i)
		if o.Repository == "" {
			c.report(join(at, "repository"), "a checkout of kind %q has no repository: write its URL", k.Name)
		}
		if o.Revision != revisionTag && o.Revision != revisionParent && !commitHash.MatchString(o.Revision) {
			c.report(join(at, "revision"), "revision %q of a checkout: use the whole hash of a commit, as git rev-parse prints it, %s or %s; a branch means another tree each day", o.Revision, revisionTag, revisionParent)
		}
		c.localPath(join(at, "path"), "path of a checkout", o.Path)
		if o.Path == "." {
			c.report(join(at, "path"), "path of a checkout is the directory of the steps itself: use one below it")
		}
		for _, other := range k.Checkouts[:i] {
			if strings.HasPrefix(o.Path+"/", other.Path+"/") || strings.HasPrefix(other.Path+"/", o.Path+"/") {
				c.report(join(at, "path"), "path %q of a checkout and %q of another one overlap: use two directories", o.Path, other.Path)
			}
		}
	}
}

// stored checks what is stored of the files of a job.
func (c *checker) stored(path string, d Definitions, k Kind) {
	if len(k.Outputs) > 0 && !k.Builds() {
		c.report(join(path, "outputs"), "outputs is only for kinds with does = %q: kind %q can keep files as uploads", DoesBuild, k.Name)
	}
	if len(k.Uploads) > 0 && d.Version < 2 {
		c.report(join(path, "uploads"), "kind %q has uploads: write version = 2 at the head of the file, so that programs that do not know them refuse the file", k.Name)
	}
	var seen []string
	for _, list := range []struct {
		key string
		of  []OutputPaths
	}{{"outputs", k.Outputs}, {"uploads", k.Uploads}} {
		at := join(path, list.key)
		if len(list.of) > maxOutputs {
			c.report(at, "kind %q has %d %s: use at most %d", k.Name, len(list.of), list.key, maxOutputs)
		}
		for i, o := range list.of {
			here := index(at, i)
			c.token(join(here, "name"), "name", o.Name)
			if o.Name != "" && slices.Contains(seen, o.Name) {
				c.report(join(here, "name"), "%q is the name of two outputs or uploads of kind %q", o.Name, k.Name)
			}
			seen = append(seen, o.Name)
			switch {
			case len(o.Paths) == 0:
				c.report(here, "%q has no paths: write which files it holds, such as paths = [\"dist/**\"]", o.Name)
			case len(o.Paths) > maxGlobs && list.key == "uploads":
				c.report(join(here, "paths"), "%q has %d paths: use at most %d", o.Name, len(o.Paths), maxGlobs)
			}
			for j, g := range o.Paths {
				if _, err := parseGlob(g); err != nil {
					c.report(index(join(here, "paths"), j), "%v", err)
				}
			}
			switch {
			case o.After != 0 && list.key == "uploads":
				c.report(join(here, "after"), "upload %q has after: uploads are stored at the end, remove it", o.Name)
			case o.After < 0 || o.After > len(k.Steps):
				c.report(join(here, "after"), "output %q is stored after step %d, and kind %q has steps 1 to %d", o.Name, o.After, k.Name, len(k.Steps))
			}
		}
	}
	globs := 0
	for _, o := range k.Outputs {
		globs += len(o.Paths)
	}
	if globs > maxGlobs {
		c.report(join(path, "outputs"), "the outputs of kind %q have %d paths: use at most %d", k.Name, globs, maxGlobs)
		return
	}
	c.apart(join(path, "outputs"), k)
}

// apart checks that no file can be in two outputs.
func (c *checker) apart(path string, k Kind) {
	for i, o := range k.Outputs {
		for j, g := range o.Paths {
			own, err := parseGlob(g)
			if err != nil {
				continue
			}
			for _, before := range k.Outputs[:i] {
				for _, other := range before.Paths {
					if names, err := parseGlob(other); err == nil && overlap(own, names) {
						c.report(index(join(index(path, i), "paths"), j), "path %q of output %q may match what %q of output %q matches: a file is in one output", g, o.Name, other, before.Name)
					}
				}
			}
		}
	}
}
