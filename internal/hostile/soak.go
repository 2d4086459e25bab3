//go:build !race && soak

package hostile

// stories is how many stories each fold is held against in a long run.
const stories = 25_000
