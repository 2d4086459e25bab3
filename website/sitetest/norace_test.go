//go:build !race

package sitetest

// raced says that the race detector runs, which makes everything some ten times slower.
const raced = false
