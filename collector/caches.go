package collector

import (
	"fmt"

	"github.com/tachobench/tacho/artifact"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// caches are the directories that the unmeasured commands of a job name. Each is opened when the first command names
// it, and closed at the end of the run.
type caches struct {
	store *artifact.Store
	// names are the caches of the job, by the names that its kind has for them.
	names map[string]string
	log   func(string)
	dirs  map[string]string
	close func()
}

func newCaches(store *artifact.Store, d suite.Definitions, spec events.JobSpec, sink Sink) *caches {
	kind, _ := d.Kind(spec.Kind)
	return &caches{store: store, names: kind.CachesOf(spec), log: sink.Log, dirs: map[string]string{}, close: func() {}}
}

// dir returns the directory of the cache that a command names. A job gets an empty directory, which is thrown away, for a
// cache that it does not have itself, or that another job uses.
func (c *caches) dir(name string) (string, error) {
	if dir, open := c.dirs[name]; open {
		return dir, nil
	}
	dir, release, err := c.open(name)
	if err != nil {
		return "", fmt.Errorf("open cache %s: %w", name, err)
	}
	c.dirs[name] = dir
	before := c.close
	c.close = func() { release(); before() }
	return dir, nil
}

func (c *caches) open(name string) (string, func(), error) {
	full, has := c.names[name]
	if !has {
		c.log(fmt.Sprintf("the job has no cache %s: it gets an empty directory that is thrown away", name))
		return c.store.Spare()
	}
	dir, own, release, err := c.store.Cache(full)
	if err == nil && !own {
		c.log(fmt.Sprintf("another job uses the cache %s: this one gets an empty directory that is thrown away", full))
	}
	return dir, release, err
}

// evicted returns the caches that the machine has removed since a collector last told. Only a collector of a pool tells:
// other jobs wait for no cache.
func (c *Collector) evicted() []string {
	if _, pool := c.Lane.Pool(); !pool || c.Evicted == nil {
		return nil
	}
	names, err := c.Evicted()
	if err != nil {
		c.Logger.Warn("the removed caches are not told; jobs may wait a moment for them", "error", err)
	}
	return names
}
