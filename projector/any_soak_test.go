//go:build soak

package projector

// anyFolds is how many logs both folds take in a long run, AnyTables how many fill tables.
const anyFolds, AnyTables = 1000, 40
