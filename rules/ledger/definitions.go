package ledger

import (
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

func (l *Ledger) foldDefinitions(f events.DefinitionsPublished) {
	if !f.Aside {
		l.mendPoison(f.Suite)
		l.Lines[f.Suite] = l.Lines[f.Suite].Evolve(f)
	}
	d, err := suite.Parse(f.Content)
	if err != nil {
		l.Unusable[f.Digest] = err.Error()
		return
	}
	delete(l.Unusable, f.Digest)
	l.Definitions[f.Digest] = d
	delete(l.Misnamed, f.Digest)
	if own := d.Digest(); own != f.Digest {
		l.Misnamed[f.Digest] = own
	}
}
