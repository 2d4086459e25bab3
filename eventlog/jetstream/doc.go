// Package jetstream keeps the event log in NATS JetStream, on one node or on a cluster.
//
// The log is one stream; an aggregate is one literal subject of it, and an append names the last sequence
// of that subject which the decision was taken on. (The wildcard form of that check lets stale writes
// through on replicated streams.) One event is one message; several are an atomic batch, in which the
// first message of each subject carries the expectation of its aggregate. See append.go for how a lost
// answer is settled.
//
// Three kinds of state lie beside the log and are no part of the truth: the stream LOGS with the output of
// jobs, the key-value bucket of heartbeats, and the durable consumer of each lane.
//
// The store can lie: a flipped bit can cut the log of a single node at a restart, and its sequences are
// then given out again; a damaged replica can leave a hole. So a cursor proves that the sequences are
// contiguous and that the log behind it is still the one that it read, Read compares what it got with the
// leader's count on a replicated stream, and Verify compares the stream's whole configuration with the
// wanted one.
//
// Only the core uses this package: it may do everything but change the stream. Collectors reach the log through
// the core (eventlog/door), and JetStream not at all.
package jetstream
