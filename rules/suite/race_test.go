//go:build race

package suite

// largest is how many parts the large balances of the tests have. The race detector makes the search ten times slower and
// finds nothing in it: it has one goroutine.
const largest = 35
