// Package ledger folds the log into one view of the farm: requests, jobs, lanes, collectors, definitions, alerts,
// deliveries and the outbox. The parts of the core decide on it.
//
// A Ledger takes every event of the log in order. It is pure: no clock, no I/O and no lock. Its owner guards it. The
// packages job and request fold single things (a job, a lane, a collector, a request). The ledger holds all of them,
// and what follows from one for the others: which jobs wait for dispatch, which requests want them, what is known about
// an artifact, since when a lane has no collector.
//
// It has two clocks. Times that decide about jobs and requests are the times of the events. Times of progress, and of
// things that are missing, are when the log stored the events: that is one clock for all writers.
package ledger
