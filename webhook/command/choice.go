package command

import (
	"maps"
	"slices"
	"strings"
)

// graphKey is the key of the graph. The keys of options are their names.
const graphKey = "graph"

// Choice is what a command takes of what the suite offers. What is empty is the default.
type Choice struct {
	// Graph is the name of a graph.
	Graph string
	// Options are values of options by name; nil for none.
	Options map[string]string
}

// Option is something of the suite that a request may set.
type Option struct {
	Name   string
	Values []string
}

// keys returns the keys of parameters that there are. Those of graphs and options are there only if the suite has some.
func (g Grammar) keys() []string {
	all := []string{targetsKey, backendsKey, profilesKey, benchmarksKey}
	if len(g.Graphs) > 0 {
		all = append(all, graphKey)
	}
	for _, o := range g.Options {
		all = append(all, o.Name)
	}
	return all
}

// choice reads the values of a key that names a graph or an option.
func (g Grammar) choice(c *Choice, key string, list []string) *Refusal {
	what, known := "graph", g.Graphs
	if i := slices.IndexFunc(g.Options, func(o Option) bool { return o.Name == key }); i >= 0 {
		what, known = "value of "+key, g.Options[i].Values
	}
	if len(list) != 1 {
		return refuse(key, "%s takes one value: name one of %s", quote(key), either(known))
	}
	if list[0] == "" {
		return nil
	}
	i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, list[0]) })
	switch {
	case i < 0:
		return unknown(what, list[0], known)
	case key == graphKey:
		c.Graph = known[i]
	default:
		if c.Options == nil {
			c.Options = map[string]string{}
		}
		c.Options[key] = known[i]
	}
	return nil
}

// render returns the choice as key=value.
func (c Choice) render() (given []string) {
	if c.Graph != "" {
		given = append(given, graphKey+"="+c.Graph)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Options)) {
		given = append(given, name+"="+c.Options[name])
	}
	return given
}
