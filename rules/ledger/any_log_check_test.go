//go:build !soak

package ledger

// anyFacts is how many facts the ledger folds in each check.
const anyFacts = 10_000
