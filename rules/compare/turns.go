package compare

// JudgeTurns judges a metric that was measured in turns. The input is not changed.
func JudgeTurns(t Turns) Turned { return Turned{} }

// LooksAt returns the planned looks at up to most pairs: the numbers of pairs after which to judge, ascending, the last of them
// most.
func LooksAt(most int) []int { return []int{most} }

// Narrow reports whether the samples of one side are enough: the interval of their median, widened for the looks at it, is at
// most until wide to both sides, relative to the median. half is the larger half width; infinite while it is not known.
func Narrow(samples []float64, until float64) (narrow bool, half float64) { return false, 0 }

// AdviceOf says what would help to decide turns that are undecided; nothing for others. counted says that the instructions of
// both sides were counted, and seconds is how long one pair takes.
func AdviceOf(t Turns, judged Turned, counted bool, seconds float64) []Advice { return nil }
