// Package projector folds the log into the tables that people read, and keeps the archive of the log.
//
// # One transaction per batch
//
// It follows the log from its cursor, takes whatever is there up to a batch, and writes everything that the
// batch says in one transaction: the archive rows, the tables, the order of the queue, the chain of hashes and
// the cursor, and a notification to the readers. The cursor moves by an UPDATE that must hit one row, the one that
// holds the sequence where this projector left it.
//
//	read, decode, chain ──▶ prefetch ──▶ fold (pure) ──▶ write: one transaction, fenced by the cursor
//	   one batch ahead       ended rows
//
// What a crash means: before the commit nothing happened, after it everything did. The log has no
// acknowledgements that could be lost, so the next start goes on behind the cursor and each event takes effect
// once. When the answer to the commit is lost, the cursor tells. A second projector moves the cursor first or
// second; whoever comes second hits no row, keeps nothing, and stops with ErrFenced.
//
// # Folds
//
// A fold is a pure function of state and event: no clock, no chance, no order of maps. The tables after event
// n are therefore the same whatever the batches were, and a replay gives the same rows (Replay proves it).
// The order of the queue is computed once per batch, from the state after its last event; its estimates are
// seen from the time of the newest event that can change the queue, or of a later one that came a minute after.
//
// Jobs leave the tables by an event (fold_retention.go), after which no fold knows them. What estimates are made
// from is kept in tables of its own, so that it does not leave with them.
//
// A fold never fails. An event that is malformed, or that stands on a subject that is not its own, is archived
// and parked. A report of an attempt that is not its lane's current one changes nothing and is counted. An
// event of an unknown type stops the projector, for skipping it would give other tables than knowing it.
//
// # Trust in the log
//
// At the start the log must be the one that the tables were made from: same identity, not shorter than the
// cursor, and the event at the cursor must have the id and the link of the chain that the archive has. While
// following, sequences are contiguous. Else the projector stops with an error that names what it saw.
package projector
