//go:build soak

package ledger

// anyFacts is how many facts the ledger folds in a long run.
const anyFacts = 300_000
