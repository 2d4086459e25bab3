// Package client calls the HTTP API of a running Tacho and holds the types of its answers.
//
// The types are declared once, here, and the website serves these same types: a Go program reads
// what the page shows and what `curl` prints. Most of them are the rows of package readmodel. Those to which the
// API adds something (heartbeats, completeness) are in shapes.go.
//
// A Client has no state but its settings. After a write, read with After to see its effect:
//
//	answer, err := c.CreateRequest(ctx, wish)
//	queue, err := c.After(answer.Seq).Queue(ctx)
//
// Errors are *Error (Tacho answered and refused), *UnreachableError (no Tacho answered), or those of the
// context.
package client
