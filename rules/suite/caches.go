package suite

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// maxCaches bounds the caches of a kind.
const maxCaches = 32

var (
	// cacheName is how the name of a cache looks: a path that stays inside its directory.
	cacheName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}(/[A-Za-z0-9][A-Za-z0-9._+-]{0,127}){0,7}$`)
	// cacheField is how an argument names a cache.
	cacheField = regexp.MustCompile(`\{cache:((?:[^{}]|\{[^{}]*\})*)\}`)
)

// cacheMark is how every field of a cache begins, a broken one too.
const cacheMark = "{cache:"

// CheckCache reports whether name can name a cache.
func CheckCache(name string) error {
	if !cacheName.MatchString(name) {
		return fmt.Errorf("cache %.200q: use words of letters, digits, '.', '_', '+' and '-', joined by '/'", name)
	}
	return nil
}

// NamesCache reports whether an argument names a cache.
func NamesCache(argument string) bool { return strings.Contains(argument, cacheMark) }

// CachesOf returns the names that the caches of the kind have for a job, by the names that the kind has for them. A job
// of a request without a parent has no cache with {parent}.
func (k Kind) CachesOf(job events.JobSpec) map[string]string {
	kept := k.Caches
	if len(job.Caches) < len(kept) {
		kept = slices.DeleteFunc(slices.Clone(kept), func(name string) bool { return strings.Contains(name, "{parent}") })
	}
	caches := map[string]string{}
	for i, name := range kept[:min(len(kept), len(job.Caches))] {
		caches[name] = job.Caches[i]
	}
	return caches
}

// ReplaceCaches replaces each {cache:NAME} in the arguments by the directory that dir returns for NAME. It returns the
// first error of dir, and one for a field that has no end.
func ReplaceCaches(argv []string, dir func(name string) (string, error)) ([]string, error) {
	replaced := make([]string, len(argv))
	for i, argument := range argv {
		var err error
		replaced[i] = cacheField.ReplaceAllStringFunc(argument, func(field string) string {
			if err != nil {
				return ""
			}
			var path string
			path, err = dir(cacheField.FindStringSubmatch(field)[1])
			return path
		})
		if err != nil {
			return nil, err
		}
		if NamesCache(cacheField.ReplaceAllString(argument, "")) {
			return nil, fmt.Errorf("%q has a {cache:…} without its end", argument)
		}
	}
	return replaced, nil
}

// kindCaches checks the caches of a kind.
func (c *checker) kindCaches(path string, k Kind) {
	if len(k.Caches) > maxCaches {
		c.report(join(path, "caches"), "kind %q has %d caches: use at most %d", k.Name, len(k.Caches), maxCaches)
	}
	for i, name := range k.Caches {
		if CheckCache(strings.NewReplacer("{tag}", "t", "{parent}", "p").Replace(name)) != nil {
			c.report(index(join(path, "caches"), i), "cache %q of kind %q: write words of letters, digits, '.', '_', '+' and '-', joined by '/', "+
				"with {tag} or {parent} in them", name, k.Name)
		}
	}
}

// cacheFields checks that a command that is not measured names only caches of the kinds. Of several kinds one must have
// it.
func (c *checker) cacheFields(path string, argv []string, kinds ...Kind) {
	for i, argument := range argv {
		_, err := ReplaceCaches([]string{argument}, func(name string) (string, error) {
			if !slices.ContainsFunc(kinds, func(k Kind) bool { return slices.Contains(k.Caches, name) }) {
				of := "any kind"
				if len(kinds) == 1 {
					of = fmt.Sprintf("kind %q", kinds[0].Name)
				}
				return "", fmt.Errorf("%s%s} is not in the caches of %s: add it there", cacheMark, name, of)
			}
			return "", nil
		})
		if err != nil {
			c.report(index(path, i), "%v", err)
		}
	}
}

// noCaches checks that no argument of a measured command names a cache. It reports whether that is so.
func (c *checker) noCaches(path string, argv []string) (ok bool) {
	ok = true
	for i, argument := range argv {
		if NamesCache(argument) {
			c.report(index(path, i), "%q names a cache, but measured commands get none: what they find there would change what is measured; use %sNAME} in prepare or artifact.build",
				argument, cacheMark)
			ok = false
		}
	}
	return ok
}
