//go:build race

package sitetest

// raced says that the race detector runs, which makes everything some ten times slower.
const raced = true

// longLog is how many events a long log has under the race detector: still many times what a stream reads at once.
const longLog = 4_000

// The size of the crowd under the race detector, which looks for races and needs no thousand readers for them.
const (
	crowdStreams  = 100
	crowdReaders  = 100
	crowdVisitors = 20
)
