package eventlog

import "errors"

// ErrFull says that the log takes no more events until there is room. It loses none of those that it has. Every error for
// which this is so is a *FullError.
var ErrFull = errors.New("the log takes no more events")

// FullError is ErrFull with a reason and the next step.
type FullError struct {
	// Why says in words what is full, Next how to make room.
	Why, Next string
}

func (e *FullError) Error() string { return e.Said() + ": " + e.Next }

// Said returns the error without the next step.
func (e *FullError) Said() string { return ErrFull.Error() + ": " + e.Why }

// Is makes every FullError an ErrFull.
func (e *FullError) Is(target error) bool { return target == ErrFull }

// Room is how full the log is.
type Room struct {
	// Bytes is what the events take, Limit what they may take.
	Bytes, Limit int64
	// AccountBytes is what the account of the log has stored in all, AccountLimit what it may store; 0 means no limit, or
	// one that this process may not see.
	AccountBytes, AccountLimit int64
	// Full says why the log takes no more events; nil while it takes some.
	Full *FullError
}
