//go:build race

package sitetest

// raced says that the race detector runs, which makes everything some ten times slower.
const raced = true

// longLog is how many events a long log has under the race detector: still many times what a stream reads at once.
const longLog = 4_000
