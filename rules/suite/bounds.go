package suite

import (
	"fmt"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/tachobench/tacho/events"
)

// The bounds of a suite file that LoadBounded reads. The time and the memory for the problems of a file grow with the
// square of what it has, and a key inside of a key repeats its whole path. Larger suites than these do not fit into an
// event of the log.
const (
	mostLines  = 20_000
	mostValues = 20_000
	mostDeep   = 16
	mostKey    = 256
	// mostMessage is how many bytes one problem has.
	mostMessage = 1000
	// mostJobs is more than one append of the log takes.
	mostJobs = 200_000
)

// LoadBounded is Load for a file of at most 1 MiB that others wrote. Its time and memory have bounds, whatever the file has.
func LoadBounded(file string, data []byte, sourceDigest func(BenchmarkDef) (events.Digest, error)) (Definitions, error) {
	b := bounds{}
	b.parser.Reset(data)
	for !b.exceeded() && b.parser.NextExpression() {
		switch e := b.parser.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			b.key(e.Key())
		case unstable.KeyValue:
			b.keyValue(e, 1)
		default:
		}
	}
	lines := 1
	for i, c := range data {
		if c != '\n' {
			continue
		}
		if lines++; lines > mostLines && !b.exceeded() {
			b.excess, b.at = fmt.Sprintf("more than %d lines", mostLines), i
		}
	}
	if b.exceeded() {
		at := b.place(data)
		return Definitions{}, Problems{{file, at.line, at.column, fmt.Sprintf("the file is too large for definitions: it has %s here", b.excess)}}
	}
	return loadChecked(file, data, sourceDigest, checker{bounded: true})
}

// bounds walks through a file until it exceeds a bound.
type bounds struct {
	parser unstable.Parser
	values int
	// at is the place of the last key, excess what there is too much of.
	at     int
	excess string
}

func (b *bounds) exceeded() bool { return b.excess != "" }

func (b *bounds) key(key unstable.Iterator) {
	for parts := 1; key.Next() && !b.exceeded(); parts++ {
		node := key.Node()
		b.at = int(node.Raw.Offset)
		switch {
		case parts > mostDeep:
			b.excess = fmt.Sprintf("a key of more than %d parts", mostDeep)
		case len(node.Data) > mostKey:
			b.excess = fmt.Sprintf("a key of more than %d bytes", mostKey)
		}
	}
	b.count()
}

func (b *bounds) keyValue(kv *unstable.Node, depth int) {
	b.key(kv.Key())
	b.value(kv.Value(), depth)
}

func (b *bounds) value(v *unstable.Node, depth int) {
	if depth > mostDeep {
		b.excess = fmt.Sprintf("lists and tables inside one another %d deep", depth)
	}
	if b.exceeded() || v.Kind != unstable.Array && v.Kind != unstable.InlineTable {
		return
	}
	for it := v.Children(); it.Next() && !b.exceeded(); {
		if v.Kind == unstable.InlineTable {
			b.keyValue(it.Node(), depth+1)
			continue
		}
		b.count()
		b.value(it.Node(), depth+1)
	}
}

func (b *bounds) count() {
	if b.values++; b.values > mostValues && !b.exceeded() {
		b.excess = fmt.Sprintf("more than %d keys and values", mostValues)
	}
}

func (b *bounds) place(data []byte) position {
	at := position{1, 1}
	for _, c := range data[:b.at] {
		if at.column++; c == '\n' {
			at = position{at.line + 1, 1}
		}
	}
	return at
}

// jobCount checks that the jobs of a request for everything can be made at all.
func (c *checker) jobCount(d Definitions) {
	jobs := 0
	for _, k := range d.Kinds {
		lanes, each := 0, 1
		for _, t := range d.Targets {
			lanes += len(sets(k, t))
		}
		if k.PerBackend {
			each *= len(d.Backends)
		}
		if k.PerProfile {
			each *= len(d.Profiles)
		}
		jobs += lanes * each
	}
	if jobs > mostJobs {
		c.report("kind", "a request for everything has %d jobs, and at most %d can be made: use fewer sets, targets, profiles, backends or kinds", jobs, mostJobs)
	}
}
