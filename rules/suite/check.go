package suite

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/match"
)

// Limits that keep a typing error from making a million jobs.
const (
	maxSets = 256
	// maxTimeout is far above the time of any measured command, and low enough that multiples of it still fit a
	// Duration.
	maxTimeout = 24 * time.Hour
)

// checker collects the problems of definitions that could be decoded.
type checker struct {
	file     string
	places   positions
	problems Problems
	// draft leaves out the problems of incomplete sets: benchmarks without sets and sets without benchmarks.
	draft bool
	// bounded is for a file that others wrote.
	bounded bool
}

// report adds a problem at the key that path names, or at the table around it.
func (c *checker) report(path, format string, args ...any) {
	at := c.places.at(path)
	message := fmt.Sprintf(format, args...)
	if c.bounded && len(message) > mostMessage { // it may list thousands of valid names
		message = strings.ToValidUTF8(message[:mostMessage], "") + "…"
	}
	c.problems = append(c.problems, Problem{c.file, at.line, at.column, message})
}

func (c *checker) check(d Definitions) {
	if d.Version < 1 || d.Version > FormVersion {
		c.report("version", "version is %d: this program reads versions 1 to %d", d.Version, FormVersion)
	}
	c.token("name", "name", string(d.Name))
	c.token("sources.root", "sources.root", d.Sources.Root)
	if d.Sources.Directory != "" {
		c.localPath("sources.directory", "sources.directory", d.Sources.Directory)
	}
	if d.Sources.Revision != "" && !commitHash.MatchString(d.Sources.Revision) {
		c.report("sources.revision", "sources.revision %q: use the whole hash of a commit, as git rev-parse HEAD prints it", d.Sources.Revision)
	}
	c.iterations("defaults.iterations", d, d.Defaults.Iterations)
	c.timeout("defaults.timeout", d.Defaults.Timeout)
	c.categories(d)
	c.targets(d)
	c.kinds(d)
	c.kindNeeds(d)
	c.profiles(d)
	c.backends(d)
	c.scenarios(d)
	c.metrics(d)
	c.artifact(d)
	c.benchmarks(d)
	c.demo(d)
	c.choices(d)
}

// commitHash matches the revision of a checkout as a collector reads it.
var commitHash = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

func (c *checker) demo(d Definitions) {
	if d.Demo == nil {
		return
	}
	for _, side := range []struct {
		key string
		tag events.Tag
	}{{"demo.parent", d.Demo.Parent}, {"demo.child", d.Demo.Child}} {
		if err := events.CheckTag(side.tag); err != nil {
			c.report(side.key, "%s: %v", side.key, err)
		}
	}
	if d.Demo.Child == d.Demo.Parent {
		c.report("demo.child", "demo.child is demo.parent: name two artifacts to compare")
	}
	for i, g := range d.Demo.Benchmarks {
		if _, err := d.globs([]string{g}); err != nil {
			c.report(index("demo.benchmarks", i), "demo.benchmarks: %v", err)
		}
	}
}

func (c *checker) categories(d Definitions) {
	known := []Category{Primary, Secondary, Stable}
	for _, kind := range []events.RequestKind{events.Master, events.Try, events.Release} {
		path := join("categories", string(kind))
		if len(d.Categories[kind]) == 0 {
			c.report(path, "categories.%s is missing: list what a %s request measures of %s", kind, kind, either(known))
		}
		c.references(path, "category", tokens(d.Categories[kind]), tokens(known))
	}
	for kind := range d.Categories {
		if _, err := events.ParseRequestKind(string(kind)); err != nil {
			c.report(join("categories", string(kind)), "%v", err)
		}
	}
}

func (c *checker) targets(d Definitions) {
	all := names(d.Targets, func(t Target) events.Target { return t.Name })
	c.entries("target", nil, tokens(all))
	for i, t := range d.Targets {
		path := index("target", i)
		if t.Sets < 1 || t.Sets > maxSets {
			c.report(join(path, "sets"), "sets of target %q is %d: use 1 to %d", t.Name, t.Sets, maxSets)
		}
		if _, pool := (events.Lane{Target: t.Name}).Pool(); pool {
			c.report(join(path, "name"), "%v", events.CheckTarget(t.Name))
		}
		c.token(join(path, "os"), "os", t.OS)
		c.token(join(path, "arch"), "arch", t.Arch)
	}
	if len(d.Targets) > 0 && !slices.ContainsFunc(d.Targets, func(t Target) bool { return !t.OnRequest }) {
		c.report("target", "every target is on_request: a request that names none would measure nothing")
	}
	c.reference("primary_target", "primary_target", string(d.PrimaryTarget), tokens(all))
}

func (c *checker) kinds(d Definitions) {
	all := names(d.Kinds, func(k Kind) events.JobKind { return k.Name })
	profiles := names(d.Profiles, func(p Profile) events.Profile { return p.Name })
	c.entries("kind", nil, tokens(all))
	for i, k := range d.Kinds {
		path := index("kind", i)
		switch {
		case k.PerProfile && k.Profile != "":
			c.report(join(path, "profile"), "kind %q has per_profile and a profile: remove one of them", k.Name)
		case !k.PerProfile:
			c.reference(join(path, "profile"), "profile of kind "+string(k.Name), string(k.Profile), tokens(profiles))
		}
		c.references(join(path, "requests"), "kind of request", tokens(k.Requests),
			tokens([]events.RequestKind{events.Master, events.Try, events.Release}))
		c.matching(path, d, k)
		c.steps(path, d, k)
		c.chunks(path, d, k)
	}
}

// matching checks what a kind says about the machines of its jobs.
func (c *checker) matching(path string, d Definitions, k Kind) {
	if k.Lanes != "" {
		c.reference(join(path, "lanes"), "lanes", k.Lanes, []string{LanesOwn, LanesAny})
	}
	if expect, err := time.ParseDuration(k.Expect); k.Expect != "" && (err != nil || expect <= 0) {
		c.report(join(path, "expect"), "expect of kind %q is %q: write a duration, such as \"10m\"", k.Name, k.Expect)
	}
	if !k.Matched() {
		if len(k.Requires)+len(k.Caches) > 0 || k.Shared {
			c.report(path, "kind %q has requires, caches or shared, but its jobs run on lanes of their own: add lanes = %q", k.Name, LanesAny)
		}
		return
	}
	if k.Backfill {
		c.report(join(path, "backfill"), "kind %q has backfill and lanes = %q: matched jobs measure their parent themselves, remove backfill", k.Name, LanesAny)
	}
	c.kindCaches(path, k)
	for _, t := range d.Targets {
		if _, err := match.Parse(k.Terms(t)); err != nil {
			c.report(join(path, "requires"), "requires of kind %q, target %s: %v", k.Name, t.Name, err)
			return
		}
	}
}

func (c *checker) profiles(d Definitions) {
	c.entries("profile", nil, tokens(names(d.Profiles, func(p Profile) events.Profile { return p.Name })))
	scenarios := names(d.Scenarios, func(s Scenario) events.Scenario { return s.Name })
	for i, p := range d.Profiles {
		path := index("profile", i)
		c.references(join(path, "scenarios"), "scenario", tokens(p.Scenarios), tokens(scenarios))
		chain := d.chain(p, BenchmarkDef{Patches: []string{"any"}})
		c.chain(join(path, "scenarios"), fmt.Sprintf("profile %q", p.Name), chain)
		c.noCaches(join(path, "args"), p.Args)
	}
	if len(d.Profiles) > 0 && !slices.ContainsFunc(d.Profiles, func(p Profile) bool { return !p.OnRequest }) {
		c.report("profile", "every profile is on_request: a request that names none would measure nothing")
	}
}

func (c *checker) backends(d Definitions) {
	c.entries("backend", nil, tokens(names(d.Backends, func(b Backend) events.Backend { return b.Name })))
	for i, b := range d.Backends {
		c.noCaches(join(index("backend", i), "args"), b.Args)
	}
	if len(d.Backends) > 0 && !slices.ContainsFunc(d.Backends, func(b Backend) bool { return !b.OnRequest }) {
		c.report("backend", "every backend is on_request: a request that names none would measure nothing")
	}
}

func (c *checker) scenarios(d Definitions) {
	c.entries("scenario", nil, tokens(names(d.Scenarios, func(s Scenario) events.Scenario { return s.Name })))
	for i, s := range d.Scenarios {
		c.reference(join(index("scenario", i), "cache"), "cache", s.Cache,
			[]string{CacheNone, CacheEmpty, CacheWarm, CachePatched})
	}
}

// chain checks that every scenario finds the cache that it needs. It reports the first scenario that does not.
func (c *checker) chain(path, whose string, chain []Scenario) (ok bool) {
	filled := false
	for _, s := range chain {
		switch s.Cache {
		case CacheEmpty:
			filled = true
		case CacheNone:
			filled = false
		case CacheWarm, CachePatched:
			if !filled {
				c.report(path, "%s: scenario %q needs a filled cache: a scenario with cache = %q must come before it",
					whose, s.Name, CacheEmpty)
				return false
			}
		}
	}
	return true
}

var metricName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9:._+-]{0,127}$`)

func (c *checker) metrics(d Definitions) {
	c.entries("metric", metricName, tokens(names(d.Metrics, func(m MetricInfo) events.Metric { return m.Name })))
	for i, m := range d.Metrics {
		path := index("metric", i)
		c.reference(join(path, "unit"), "unit", m.Unit, []string{"s", "bytes", "count"})
		c.reference(join(path, "class"), "class", m.Class, []string{"exact", "count", "time"})
		c.reference(join(path, "better"), "better", m.Better, []string{"lower", "higher"})
		if math.IsNaN(m.Floor) || m.Floor < 0 || m.Floor >= 1 {
			c.report(join(path, "floor"), "floor of metric %q is %v: use a share from 0 to below 1, such as 0.002", m.Name, m.Floor)
		}
	}
}

// entries checks the names of an array of tables: there is at least one, each is well-formed (it matches form, or is a
// token if form is nil), and none comes twice. Case makes no difference.
func (c *checker) entries(table string, form *regexp.Regexp, all []string) {
	if len(all) == 0 {
		c.report(table, "there is no [[%s]]: at least one is needed", table)
	}
	first := map[string]int{}
	for i, name := range all {
		path := join(index(table, i), "name")
		switch {
		case name == "":
			c.report(path, "[[%s]] has no name", table)
		case form == nil:
			c.token(path, table, name)
		case !form.MatchString(name):
			c.report(path, "%s %q: use up to 128 letters, digits and %q, starting with a letter or digit", table, name, ":._+-")
		}
		key := strings.ToLower(name)
		if j, ok := first[key]; ok && name != "" {
			c.report(path, "%s %q is there twice: the first is on line %d", table, name, c.places.at(join(index(table, j), "name")).line)
			continue
		}
		first[key] = i
	}
}

func (c *checker) token(path, what, value string) {
	if value == "" {
		c.report(path, "%s is missing", what)
		return
	}
	if err := events.CheckToken(what, value); err != nil {
		c.report(path, "%v", err)
	}
}

func (c *checker) timeout(path, text string) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		c.report(path, "timeout %q: use a duration above 0, such as \"90s\" or \"5m\"", text)
	}
	if d > maxTimeout {
		c.report(path, "timeout %q: use a duration of at most %.0fh: it limits one command", text, maxTimeout.Hours())
	}
}

// reference checks a value that must be one of valid.
func (c *checker) reference(path, what string, value string, valid []string) {
	if value == "" {
		c.report(path, "%s is missing: use %s", what, either(valid))
		return
	}
	if !slices.Contains(valid, value) {
		c.report(path, "unknown %s %q: use %s", what, value, either(valid))
	}
}

// references checks a list of values: each must be one of valid and come only once.
func (c *checker) references(path, what string, values, valid []string) {
	for i, v := range values {
		c.reference(index(path, i), what, v, valid)
		if slices.Index(values, v) < i {
			c.report(index(path, i), "%s %q is there twice", what, v)
		}
	}
}

// tokens returns values as plain strings.
func tokens[T ~string](values []T) []string {
	return names(values, func(v T) string { return string(v) })
}
