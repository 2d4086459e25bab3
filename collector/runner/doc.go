// Package runner measures the test cases of a job. It knows nothing about requests, queues or the log.
//
// A job is a list of plans, one per benchmark. A Driver, which alone knows the toolchain, turns each plan into the
// steps of one iteration. The runner executes them:
//
//	prepare ──▶ iteration 1: step, step, … ──▶ … ──▶ iteration n: step, step, …
//	unmeasured                                                    └─ a case is measured here, not before
//
// The steps of an iteration form a chain. A scenario with the cache "warm" or "patched" begins where the one before
// it ended. A scenario with the cache "none" or "empty" needs nothing before it and begins a new segment. This
// decides what depends on what:
//
//   - If test cases are missing, each segment runs from its start to the last of them and no further.
//     Steps whose case is already measured run only for their effect.
//   - When a command fails, its case fails and so do all later ones of the segment. The other segments, the other
//     benchmarks and what was measured before are not affected.
//   - A case counts as measured after its last iteration. An interrupted run has measured nothing of it.
//
// Definitions may leave open how many iterations there are. Each case then ends for itself, once its interval is narrow,
// its budget is spent, or there are as many as may be.
//
// The runner tells three kinds of trouble apart. A Failure is a property of what is measured: the runner reports it
// and continues with the job. ErrTransient is a fault of this machine that may pass, such as a full disk: the job
// stops and is tried again later. ErrInterrupted says that the context ended: nothing is recorded, and no process
// stays behind.
//
// # In turns
//
// What is measured one batch after the other differs by more than chance, since machines change from minute to minute. So
// RunPair measures two jobs in turns: step by step on both sides, a b, b a, b a, a b.
//
//	prepare a ──▶ park a, prepare b ──▶ pair 1: step of a, of b; next step of a, of b; … ──▶ pair 2: of b, of a; …
//
// Both trees are prepared for one path, that of the slot, and take turns there by rename. The pairs of a case are reported
// together, after the last one, or not at all. A case that fails on one side is measured alone on the other.
//
// # The slot
//
// Compilers write paths into their output and hash them. So a job runs in a slot: a directory whose path is the same
// every time, or at least of the same length. The slot belongs to the runner alone, and the runner empties it for
// every benchmark. Beside it is a cache directory that outlives jobs and may be shared by the collectors of a
// machine. It holds only what is the same for all benchmarks of a toolchain, under a lock.
//
// # How Go is measured
//
// The runner measures "go build" of a prepared tree, as a user calls it. The build cache holds the standard library
// and nothing of the program. So the measurement covers the commands compile, asm, link and go itself; the scenario
// in which nothing has changed shows the share of the go command apart. The alternative was to call compile alone on
// a fixed tree with recorded arguments. Both were tried with Go 1.26 on a busy machine with two CPUs, ten times each.
// The coefficient of variation, in percent, of two programs:
//
//	                             page-faults    max-rss        task-clock
//	go build                     2.2    2.0     0.23   0.72     8.6    8.7
//	go build, GOGC=off           0.05   0.09    0.15   0.21    11.9    7.2
//	compile                      2.2    2.3     1.4    1.9      2.2   14.8
//	compile, GOGC=off            0.05   0.04    0.74   0.14     4.3   19.0
//
// So the garbage collector makes the difference, not the other commands. When it starts is chance, and with one CPU
// compile does without the larger first heap that it gives itself otherwise. With GOGC=off, every allocation shows in
// page-faults and max-rss, which then repeat twenty times as well. Realism decides the rest: users also wait for the
// linker and the go command, and their regressions would otherwise go unseen. A program that is too large for this
// sets GOGC in its env.
//
// These settings also make it repeat: GOMAXPROCS=1 and -p=1, so that no two compilers run at the same time; -trimpath
// and -buildvcs=false, so that the binary is the same byte for byte; no network, no other toolchain, no go.env, no
// telemetry; and a cache that is made anew for each iteration, by hard links to one that is filled once per
// toolchain.
package runner
