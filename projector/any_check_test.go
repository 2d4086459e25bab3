//go:build !soak

package projector

// anyFolds is how many logs both folds take in each check, AnyTables how many fill tables.
const anyFolds, AnyTables = 30, 2
