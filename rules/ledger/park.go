package ledger

import "github.com/tachobench/tacho/events"

// Obey makes the parks those that the ledger obeys from now on. It must not have folded an event about which they say
// something else than those that it obeyed so far (events.Parks.Since): then fold another ledger.
func (l *Ledger) Obey(p events.Parks) {
	l.reader.Obey(p)
	l.Parks = p.At
}

// skip notes an event that no fold takes. Its subject still has a newer version: the next writer there must have seen it.
func (l *Ledger) skip(m events.Stored, why string) {
	l.Seq, l.Versions[m.Subject] = m.Seq, m.Seq
	l.Deliveries.passed(m.Subject, m.Seq)
	l.Outbox.passed(m.Subject, m.Seq)
	l.drop(m.Subject, m.Seq, "", why)
}
