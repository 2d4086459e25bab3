//go:build walk

// A package with assembly may declare functions without a body; see walk_test.go.
