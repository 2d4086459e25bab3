// Package ledger is what the log says of the farm: one fold of requests, jobs, lanes, collectors, definitions, alerts,
// deliveries and the outbox, on which the deciding parts stand.
//
// A Ledger takes every event of the log in order. It is pure: no clock, no I/O, and no lock. Whoever owns it guards it.
// What a single thing is now (a job, a lane, a collector, a request) the packages job and request say; the ledger holds
// all of them, and what follows from one for the others: which jobs wait for dispatch, who wants them, what an artifact
// has shown, since when a lane has nobody.
//
// Two clocks are in it. Times that decide about jobs and requests are those of the events. Since when something has
// moved or has been missing is told by when the log stored the events: one clock for all who write.
package ledger
