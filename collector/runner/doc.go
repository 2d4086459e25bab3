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
// share shown apart by the scenario in which nothing has changed. The alternative was to call compile alone
// on a fixed tree with recorded arguments. Both were tried with Go 1.26 on a busy machine with two CPUs, ten
// times each; the coefficient of variation in percent, of two programs:
//
//	                             page-faults    max-rss        task-clock
//	go build                     2.2    2.0     0.23   0.72     8.6    8.7
//	go build, GOGC=off           0.05   0.09    0.15   0.21    11.9    7.2
//	compile                      2.2    2.3     1.4    1.9      2.2   14.8
//	compile, GOGC=off            0.05   0.04    0.74   0.14     4.3   19.0
//
// So it is the garbage collector that makes the difference, and not the other commands. It starts when it
// happens to, and with one CPU compile does without the larger first heap that it gives itself otherwise.
// Switched off, every allocation shows in page-faults and max-rss, which then repeat twenty times as well.
// Realism decides the rest: what users wait for includes the linker and the go command, regressions of which
// would go unseen. A program that is too large for this has GOGC in its env.
//
// What makes it repeat besides: GOMAXPROCS=1 and -p=1, so that no two compilers run at the same time;
// -trimpath and -buildvcs=false, so that the binary is the same byte for byte; no network, no other
// toolchain, no go.env, no telemetry; the cache made anew for each iteration, by hard links to one that is
// filled once per toolchain.
package runner
