//go:build !race

package suite

// largest is how many parts the large balances of the tests have.
const largest = 70
