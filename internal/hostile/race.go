//go:build race

package hostile

// stories is how many stories each fold is held against. The race detector makes them ten times slower.
const stories = 300
