//go:build race

package command

// longComment is how long a comment of the test of time is. The race detector makes it ten times slower.
const longComment = MaxComment / 32
