//go:build !race

package hostile

// stories is how many stories each fold is held against.
const stories = 25_000
