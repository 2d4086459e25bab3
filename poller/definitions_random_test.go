package poller

import (
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// However many pollers run, whenever they are killed and whatever is pushed: in the end the log says what the tip has, and
// no poller has repeated what the log said before it.
func TestPollersOfAFileRepeatNothing(t *testing.T) {
	contents := []string{mine, mineOf("second"), broken, "", mineOf("third")}
	rapid.Check(t, func(rt *rapid.T) {
		c, log := newControl(t)
		files := &tree{}
		files.set(mine)
		pollers := []*Poller{definitionsPoller(c, "a", "main", files), definitionsPoller(c, "b", "main", files)}
		settle := func() {
			for _, p := range pollers {
				if _, err := p.Poll(t.Context()); err != nil {
					rt.Fatal(err)
				}
			}
		}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0, 1:
				files.set(contents[rapid.IntRange(0, len(contents)-1).Draw(rt, "content")])
			case 2:
				// A poller is killed before its append or after it, and another one replaces it.
				dying := &control.Control{
					Log: &mortal{Log: log, left: rapid.IntRange(0, 1).Draw(rt, "appends")}, Clock: c.Clock,
				}
				_, _ = definitionsPoller(dying, "a", "main", files).Poll(t.Context())
				pollers[0] = definitionsPoller(c, "a", "main", files)
			case 3:
				// A person moves the branch, forwards or back.
				var published []events.Digest
				for _, e := range read(t, log) {
					if f, ok := e.Fact.(events.DefinitionsPublished); ok && f.Suite == "mine" {
						published = append(published, f.Digest)
					}
				}
				if len(published) == 0 {
					continue
				}
				settle()
				if _, err := c.Promote(t.Context(), by, "mine", "main", rapid.SampledFrom(published).Draw(rt, "digest"), ""); err != nil {
					rt.Fatal(err)
				}
				before, err := c.Published(t.Context(), "mine")
				if err != nil {
					rt.Fatal(err)
				}
				settle()
				after, err := c.Published(t.Context(), "mine")
				if err != nil || after.Lines()["main"].Digest != before.Lines()["main"].Digest {
					rt.Fatalf("a poller moved the branch from %s to %s: %v", before.Lines()["main"].Digest, after.Lines()["main"].Digest, err)
				}
			default:
				var both sync.WaitGroup
				for _, p := range pollers {
					both.Go(func() {
						if _, err := p.Poll(t.Context()); err != nil {
							t.Error(err)
						}
					})
				}
				both.Wait()
			}
		}
		settle()
		var lines suite.Lines
		for _, e := range read(t, log) {
			file := ""
			// The others name no file.
			//exhaustive:ignore
			switch f := e.Fact.(type) {
			case events.DefinitionsPublished:
				file = f.File
			case events.DefinitionsRejected:
				file = f.File
			}
			if file != "" && lines["main"].File == file {
				rt.Fatalf("event %d repeats %.20s", e.Seq, file)
			}
			if e.Fact.Subject() == events.SuiteSubject("mine") {
				lines = lines.Evolve(e.Fact)
			}
		}
		tip, err := files.File(t.Context(), "", "")
		if err != nil {
			rt.Fatal(err)
		}
		if line := lines["main"]; line.File != tip.ID || (line.Problems == nil) != (len(tip.Data) > 0 && string(tip.Data) != broken) {
			rt.Fatalf("the log says %+v of %q", line, tip.Data)
		}
	})
}
