package command

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
)

// A rendered command is read as the same command, wherever a comment has it.
func TestRenderedCommandsAreReadAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawCommand(t)
		before := rapid.SampledFrom([]string{"", "text\n", "> quoted\n", "- ", "@bors try ", "```\ncode\n```\n"}).Draw(t, "before")
		after := rapid.SampledFrom([]string{"", " ", "\ntext", "\n\n    code", " @bors r+", "\r\n> quoted"}).Draw(t, "after")
		got, err := offering().Read(before + "@tacho " + want.String() + after)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func drawCommand(t *rapid.T) Command {
	hex := func(least int) *rapid.Generator[string] {
		return rapid.StringOfN(rapid.RuneFrom([]rune("0123456789abcdef")), least, whole, whole)
	}
	switch rapid.IntRange(0, 8).Draw(t, "command") {
	case 0:
		return Queue{drawParameters(t), drawChoice(t)}
	case 1:
		return Build{SHA: events.Tag(hex(abbreviated).Draw(t, "sha")), Parameters: drawParameters(t), Choice: drawChoice(t)}
	case 2:
		var shas []events.Tag
		for _, sha := range rapid.SliceOfNDistinct(hex(shortest), 1, 9, rapid.ID[string]).Draw(t, "shas") {
			shas = append(shas, events.Tag(sha))
		}
		return Triage{SHAs: shas}
	case 3:
		return Cancel{}
	case 4:
		return Status{}
	case 5:
		return Retry{Select: drawSelector(t)}
	case 6:
		return Noise{Samples: rapid.SampledFrom([]int{0, 2, 5, 20}).Draw(t, "samples"), Benchmarks: drawParameters(t).Benchmarks}
	case 7:
		return Priority{To: rapid.SampledFrom(events.Priorities).Draw(t, "priority")}
	}
	return Help{}
}

// drawSelector draws terms that a selector takes.
func drawSelector(t *rapid.T) (terms []string) {
	values := map[string]*rapid.Generator[string]{
		kindKey: rapid.StringMatching(`[a-z][a-z0-9.+_-]{0,9}`), setKey: rapid.StringMatching(`[0-9]{1,3}`), stateKey: rapid.SampledFrom(graph.SelectableStates()),
		targetKey: rapid.SampledFrom(spelled(rust().Targets.known())), backendKey: rapid.SampledFrom(spelled(rust().Backends.known())),
		profileKey: rapid.SampledFrom(spelled(rust().Profiles.known())),
	}
	for _, property := range properties() {
		if chosen := some(t, property, values[property]); chosen != nil {
			terms = append(terms, property+"="+strings.Join(chosen, ","))
		}
	}
	if _, err := graph.ParseSelector(terms); err != nil {
		t.Fatal(err)
	}
	return terms
}

func drawParameters(t *rapid.T) events.Parameters {
	g := rust()
	return events.Parameters{
		Targets:    some(t, "targets", rapid.SampledFrom(g.Targets.known())),
		Backends:   some(t, "backends", rapid.SampledFrom(g.Backends.known())),
		Profiles:   some(t, "profiles", rapid.SampledFrom(g.Profiles.known())),
		Benchmarks: some(t, "benchmarks", rapid.StringMatching(`[a-z*?][a-z0-9.+*?_-]{0,9}(\[a-z\])?`)),
	}
}

func drawChoice(t *rapid.T) (c Choice) {
	g := offering()
	if rapid.Bool().Draw(t, "names a graph") {
		c.Graph = rapid.SampledFrom(g.Graphs).Draw(t, "graph")
	}
	for _, o := range g.Options {
		if rapid.Bool().Draw(t, "sets "+o.Name) {
			if c.Options == nil {
				c.Options = map[string]string{}
			}
			c.Options[o.Name] = rapid.SampledFrom(o.Values).Draw(t, o.Name)
		}
	}
	return c
}

// some draws distinct values; it returns nil for none.
func some[T comparable](t *rapid.T, label string, from *rapid.Generator[T]) []T {
	values := rapid.SliceOfNDistinct(from, 0, 2, rapid.ID[T]).Draw(t, label)
	if len(values) == 0 {
		return nil
	}
	return values
}

// FuzzRead holds for every comment. Read does not panic. An accepted command, rendered, is read as the same one. A
// refusal is one line that asks for nothing. The comment as a quote asks for nothing.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"@tacho queue", "@bors try @tacho queue backends=llvm,Cranelift profiles=", "@tacho build " + sha + " benchmarks=a*,[b-c]?",
		"@tacho build https://github.com/o/r/commit/" + sha, "@tacho triage abcd  efgh", "@tacho status\n@tacho help",
		"@tacho retry kind=compile,link State=Failure", "@tacho retry set= target", "@tacho noise 7 benchmarks=a*", "@tacho noise 1", "@tacho noise 99999999999999999999",
		"@tacho priority VIP", "@tacho priority high low",
		"```\n@tacho queue\n``", "- > `\\`<!-- @tacho --> 1. \t# ---", "<pre>@tacho</pre> <code> `` @tacho queue ``", "@tacho q`ueue",
		"- - - 1) a\n\n        @tacho cancel", "\xff@tacho\x00 queue\r@tacho\u2028queue", "@tacho frobnicate `@all` <!-- x -->",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, comment string) {
		g := offering()
		got, err := g.Read(comment)
		if err != nil {
			checkRefusal(t, g, got, err)
		}
		if g.Addressed(comment) != (got != nil || err != nil) {
			t.Fatalf("addressed %v, read %v, %v", g.Addressed(comment), got, err)
		}
		if retry, is := got.(Retry); is {
			if _, err := graph.ParseSelector(retry.Select); err != nil {
				t.Fatalf("%q selects no jobs: %v", got, err)
			}
		}
		if got != nil {
			again, err := g.Read("@tacho " + got.String())
			if err != nil {
				t.Fatalf("%q is refused: %v", got, err)
			}
			if diff := cmp.Diff(got, again); diff != "" {
				t.Fatal(diff)
			}
		}
		for name, hide := range map[string]func(string) string{
			"quoted":   func(line string) string { return "> " + line },
			"indented": func(line string) string { return "    " + line },
		} {
			hidden := eachLine(comment, hide)
			if got, err := g.Read(hidden); got != nil || err != nil {
				t.Fatalf("%s it asks for something: %q: %v, %v", name, hidden, got, err)
			}
		}
	})
}

func checkRefusal(t *testing.T, g Grammar, got Command, err error) {
	t.Helper()
	var refusal *Refusal
	switch {
	case !errors.As(err, &refusal) || got != nil:
		t.Fatalf("got %v and %v", got, err)
	case len(refusal.Sentence) > 2000 || strings.ContainsAny(refusal.Sentence, "\n\r\x00"):
		t.Fatalf("no sentence: %q", refusal.Sentence)
	}
	if got, err := g.Read(refusal.Sentence); got != nil || err != nil {
		t.Fatalf("the refusal asks for something: %q: %v, %v", refusal.Sentence, got, err)
	}
}

func eachLine(comment string, do func(string) string) string {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(comment), "\n")
	for i, line := range lines {
		lines[i] = do(line)
	}
	return strings.Join(lines, "\n")
}

// processorTime is what this process has had of the processors. Other processes do not slow it down.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Comments that are made to be slow are read in time linear in their length. The bound is far above the time of any
// of them; quadratic time is far above the bound.
func TestTimeIsLinear(t *testing.T) {
	for _, piece := range []string{
		"`", "` `` ", "``` ``", "<!--", "<!-- ", "<code>", "<pre", "<pre>\n", "- ", "- a\n", "* - + ", "1. ", "> ", ">", "@tacho ", "@tacho queue",
		"@tacho\n", " @tacho x ", "@", "\\", "\t", " ", "=", ",", "#", "~~~\n", "_ ", "a\n    ", "@tacho queue profiles=", "-\t\n",
		"> - ", "<?", "<!A", "<![CDATA[", "<a b='\n", "</a", "[", "[a]: <b \"", "[a]: b\n", "<div>\n", "<http://", "<code>`",
	} {
		for _, before := range []string{"", "@tacho queue ", "@tacho queue profiles=", "x\n"} {
			n := (MaxComment/8 - len(before)) / len(piece)
			start := processorTime(t)
			_, _ = rust().Read(before + strings.Repeat(piece, n))
			if took := processorTime(t) - start; took > 2*time.Second {
				t.Errorf("%q and then %q takes %v", before, piece, took)
			}
		}
	}
}
