// Package events is the closed set of facts that Tacho records: their types, ids, subjects, envelope and
// stored form.
//
// Everything else is derived from these facts. A type that was once written keeps its name ("request.created.v1") and
// its meaning for ever: a new shape is a new version with an upcaster (see registry.go), and testdata holds a golden
// file of each. The data of an event is plain JSON. Its envelope is CloudEvents attributes in headers. So you can read
// the log with the NATS command line.
//
// An aggregate is one literal subject (see Subject). Each fact knows its own subject, so it cannot be written to a
// wrong one.
//
// The package imports nothing of Tacho's own.
package events
