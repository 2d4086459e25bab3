// Package share decides whose job comes next on a farm that many people share: it keeps what each tier, queue and
// account has had, and picks the one that has had the least for its weight.
//
// # The tree
//
// The tiers vip, default and idle are at the top. Below each are the queues that have work in it, nested up to
// MaxDepth, and below each queue are its accounts: the leaves. In a leaf, items wait in their own order. A queue of
// which nothing is set has the weight of the account with its name: this is an account's own queue.
//
// # Fair queueing
//
// Each tier and queue runs start-time fair queueing among its children (P. Goyal, H. M. Vin, H. Cheng: Start-time Fair
// Queueing, SIGCOMM 1996). A child has a weight w, a start S and the number L of its last turn, 0 for none. A parent
// has a virtual time v. One millisecond of machine time at weight 1 counts 1024:
//
//	cost(c, w) = max(1, c·1024/w)
//	join       S = max(S, v), and L = 0 if S ≤ v     the first job of a child waits
//	select     the smallest (S, L, number of the join)
//	serve      S' = max(S, v - lag·1024/w)           a job is dispatched and charged c
//	           v  = max(v, S')
//	           S  = S' + cost(c, w); L = next number
//	correct    S  = S + cost(d, w)                   a job took d more than its charge, or -d less;
//	           v  = min(v, S) if S was at least v    when other work of the child waits
//
// The last rule is our own. A charge that was too high moves v too far: those who were charged would then have their
// next turns before everyone who joins. So v goes back with them.
//
// A dispatch serves every node on the path from the leaf up to the tier. A newcomer begins at v, so it is next, after
// others that are as new; 10,000 jobs of others change nothing. A child that no free lane fits is not charged: it keeps
// its start and catches up later, but no more than the lag. A node without work banks nothing. It is forgotten as soon
// as its start is not above v any more. A queue or tier without any work starts
// over.
//
// # Tiers
//
// A tier comes before the next one. The lower two have a floor, a part of the machine time:
//
//	owed(t) grows by charge·floor(t) at each dispatch for which t had a job, its own included
//	        falls by the charge of each dispatch of t; never below 0, and 0 when nothing of t waits
//
// A lower tier whose owed has reached the charge of its next job goes first, default before idle.
//
// # Time and memory
//
// Each node keeps a heap of its children for each class that has work below it. Pick looks at the tops only. Serve and
// Correct repair the heaps on their path. So with n children, k classes asked for and c classes on the path both take
// O(depth·(k + c·log n)); nothing is scanned. What is paused or at a limit is in no heap of its parent. Only two rare
// settings look at all nodes: a new parent of a queue, and the first limit of an account. The classes of a node are a
// sorted list. One without work keeps its place until half of them have none, so a list of 100,000 moves rarely.
//
// # Fold and order of calls
//
// The tree is a fold of the log. It reads no clock, so the same calls make the same tree anywhere. For one event, call
// first what adds work and last what takes it away, so that no node is forgotten in between: Serve before Remove, Add
// before End and Unhold, Correct before End.
package share
