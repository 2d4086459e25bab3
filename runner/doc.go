// Package runner measures the test cases of a job. It knows nothing of requests, queues or the log.
//
// A job is a list of plans, one per benchmark. Of each plan a Driver, which alone knows the toolchain, makes
// the steps of one iteration, and the runner executes them:
//
//	prepare ──▶ iteration 1: step, step, … ──▶ … ──▶ iteration n: step, step, …
//	unmeasured                                                    └─ a case is measured here, not before
//
// The steps of an iteration form a chain: a scenario with the cache "warm" or "patched" begins where the one
// before it ended. A scenario with the cache "none" or "empty" needs nothing before it and begins a new
// segment. This settles what depends on what:
//
//   - If test cases are missing, each segment is run from its start to the last of them and no further.
//     Steps whose case is already measured run for their effect alone.
//   - When a command fails, its case fails with all later ones of the segment; the other segments, the other
//     benchmarks and what was measured stay.
//   - A case counts as measured after its last iteration. Whoever is interrupted has measured nothing of it.
//
// Three kinds of trouble are told apart. A Failure is a property of what is measured: it is reported and the
// job goes on. ErrTransient is a fault of this machine that may pass, such as a full disk: the job stops and
// is tried again. ErrInterrupted says that the context ended: nothing is recorded, nothing is left running.
//
// # The slot
//
// Compilers write paths into what they make, and hash them. So a job runs in a slot, a directory whose path
// is the same, or at least of the same length, every time. The slot is ours alone and is emptied for every
// benchmark. Beside it is a cache directory that outlives jobs and may be shared by the collectors of a
// machine; only what is the same for all benchmarks of a toolchain is in it, under a lock.
//
// # How Go is measured
//
// What is measured is "go build" of a prepared tree, as a user calls it, with a build cache that holds the
// standard library and nothing of the program: the commands compile, asm, link and go itself, the latter's
// share shown apart by the scenario in which nothing has changed. The alternative was to call compile itself
// on a fixed tree with recorded arguments. Both were tried with one CPU's worth of parallelism, ten times
// each on a busy machine with two CPUs: TABLE
// Since the two repeat equally well, realism decides: what users wait for includes the linker and the go
// command, regressions of which would go unseen.
//
// What makes it repeat: GOMAXPROCS=1 and -p=1, so that no two compilers run at the same time and the garbage
// collector works at the same points; -trimpath and -buildvcs=false, so that the binary is the same byte for
// byte; no network, no other toolchain, no go.env, no telemetry; the cache made anew for each iteration, by
// hard links to one that is filled once per toolchain.
package runner
