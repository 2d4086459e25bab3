//go:build !race && !soak

package hostile

// stories is how many stories each fold is held against in each check. Their seeds are new each time.
const stories = 4_000
