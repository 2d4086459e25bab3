package node

import "time"

// waiting says from time to time that a start waits for something, up to a bound.
type waiting struct {
	began, said time.Time
	bound       time.Duration
	say         func(format string, args ...any)
}

func newWaiting(bound time.Duration, say func(string, ...any)) *waiting {
	return &waiting{began: time.Now(), bound: bound, say: say}
}

func (w *waiting) passed() time.Duration { return time.Since(w.began) }

func (w *waiting) left() time.Duration { return w.bound - w.passed() }

// goesOn reports whether there is time for another try, and if so says what the start waits for.
func (w *waiting) goesOn(what string) bool {
	left := w.left()
	if left <= 0 {
		return false
	}
	w.tell(what + "; giving up in " + max(time.Second, left.Round(time.Second)).String())
	return true
}

// answered notes that the server answered but is not ready, so the wait begins anew. It says nothing within the first second,
// which an ordinary start may take.
func (w *waiting) answered(what string) {
	w.began = time.Now()
	if w.said.IsZero() {
		w.said = w.began.Add(time.Second - sayEvery)
	}
	w.tell(what)
}

func (w *waiting) tell(what string) {
	if now := time.Now(); now.Sub(w.said) >= sayEvery {
		w.said = now
		w.say("waiting    %s", what)
	}
}
