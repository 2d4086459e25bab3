// Package usage has the error for a wrong command line or configuration: nothing was done, and the text says what to write
// instead.
package usage

import "fmt"

// Error is wrong usage. A command that returns one ends with an exit code of its own.
type Error struct{ Err error }

// Errorf returns an Error. Its arguments are those of fmt.Errorf.
func Errorf(format string, args ...any) error { return Error{fmt.Errorf(format, args...)} }

// Error implements error.
func (e Error) Error() string { return e.Err.Error() }

// Unwrap returns what was wrong, for errors.As.
func (e Error) Unwrap() error { return e.Err }
