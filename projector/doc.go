// Package projector folds the log into the tables that people read, and keeps the archive of the log.
//
// # One transaction per batch
//
// The projector follows the log from its cursor. It takes the events that are there, at most one batch, and writes
// their effects in one transaction: archive rows, tables, the order of the queue, the chain of hashes, the cursor, and
// a notification to the readers. An UPDATE moves the cursor. It must hit the one row that holds the sequence where this
// projector left it.
//
//	read, decode, chain ──▶ prefetch ──▶ fold (pure) ──▶ write: one transaction, fenced by the cursor
//	   one batch ahead       ended rows
//
// What a crash means: before the commit nothing happened, after it everything did. The log has no
// acknowledgements that could be lost, so the next start continues behind the cursor and each event takes effect
// once. If the answer to the commit is lost, the cursor shows whether it happened. If two projectors move the cursor,
// the second one hits no row, stores nothing, and stops with ErrFenced.
//
// # Folds
//
// A fold is a pure function of state and event: it uses no clock, no randomness and no order of maps. So the tables
// after event n do not depend on the batches, and a replay gives the same rows (Replay proves it).
// The order of the queue is computed once per batch, from the state after its last event; a replay, whose tables nobody reads
// meanwhile, computes it once. Its estimates start at
// the time of the newest event that can change the queue, or of a later event that came a minute or more after that one.
//
// An event takes jobs out of the tables (fold_retention.go). After it no fold knows them. What estimates are made
// from is kept in tables of its own, so it stays.
//
// A fold never fails. An event that is malformed, or that is on the wrong subject, is archived
// and parked. A report of an attempt that is not its lane's current one changes nothing and is counted. An
// event of an unknown type stops the projector: to skip it would give other tables than to know it.
//
// # Trust in the log
//
// At the start the log must be the one that the tables were made from: it has the same identity, it is not shorter than
// the cursor, and the event at the cursor has the id and the link of the chain that the archive has. While the projector
// follows, sequences must be contiguous. Otherwise it stops with an error that names what it saw.
package projector
