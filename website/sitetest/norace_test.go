//go:build !race

package sitetest

// raced says that the race detector runs, which makes everything some ten times slower.
const raced = false

// longLog is how many events a long log has.
const longLog = 20_000

// The size of the crowd while a page is measured.
const (
	crowdStreams  = 500
	crowdReaders  = 500
	crowdVisitors = 100
)
