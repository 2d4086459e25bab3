// Package jetstream keeps the event log in NATS JetStream, on one node or on a cluster.
//
// The log is one stream, and an aggregate is one literal subject of it. An append names the last sequence of that
// subject that the writer decided on. (The wildcard form of this check lets stale writes through on replicated
// streams.) One event is one message. Several are an atomic batch, in which the first message of each subject carries
// the expected version of its aggregate. See append.go for how a lost answer is settled, and
// torn.go for batches of which the server stores only the beginning.
//
// Four kinds of state are beside the log and no part of the truth: the stream LOGS with the output of jobs, the stream
// SNAPSHOTS, the key-value bucket of heartbeats, and the consumer of each lane, in memory. Other packages can have streams
// beside it, too (Beside).
//
// The store can be wrong: a flipped bit can cut the log of a single node at a restart, and the server then gives out
// its sequences again; a damaged replica can leave a hole. So a cursor checks that the sequences are contiguous and
// that the log is still the one that it read. Read compares its result with the leader's count on a replicated stream.
// Verify compares the stream's whole configuration with the wanted one.
//
// Only the core uses this package: it may do everything except change the stream. Collectors reach the log through the
// core (eventlog/door); they cannot reach JetStream.
package jetstream
