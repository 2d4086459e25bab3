// Package client calls the HTTP API of a running Tacho and holds the shapes of its answers.
//
// The shapes are declared once, here, and the website serves these very types: what a Go program reads is
// what the page shows and what `curl` prints. Most of them are the rows of package readmodel; those that the
// API adds something to (heartbeats, completeness) are in shapes.go.
//
// A Client has no state but its settings. Whoever has written asks with After to see the effect:
//
//	answer, err := c.CreateRequest(ctx, wish)
//	queue, err := c.After(answer.Seq).Queue(ctx)
//
// Errors are *Error (Tacho answered and refused), *UnreachableError (nobody answered), or those of the
// context.
package client
