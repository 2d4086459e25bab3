//go:build !race

package command

// longComment is how long a comment of the test of time is.
const longComment = MaxComment / 8
