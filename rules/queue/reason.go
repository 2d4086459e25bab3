package queue

import "strconv"

// reason says in words why an entry has its place. Times are in UTC, so the words do not depend on the machine.
func reason(e *Entry, s spot) string {
	switch s.turn {
	case running:
		if e.StartedAt.IsZero() {
			return "in progress"
		}
		return "in progress since " + e.StartedAt.UTC().Format("2006-01-02 15:04 MST")
	case release:
		if e.ReleasedOn.IsZero() {
			return "release, without a date"
		}
		return "release, dated " + e.ReleasedOn.UTC().Format("2006-01-02")
	case waiting:
		return "waits for its artifacts"
	case ready, orphan, tangled, ended:
	}
	// One concatenation each, for speed: every place of a long queue gets a reason.
	const last = ": taken after all others that can start"
	if s.level > 0 {
		return "level " + strconv.Itoa(int(s.level)) + ": waits for parent `" + string(e.Parent) + "`"
	}
	switch s.parent {
	case absent:
		return "ready: it has no parent"
	case done:
		return "ready: its parent `" + string(e.Parent) + "` is done"
	case inProgress:
		return "ready: its parent `" + string(e.Parent) + "` is in progress"
	case unknown:
		return "parent `" + string(e.Parent) + "` is unknown" + last
	case unready:
		return "parent `" + string(e.Parent) + "` waits for its artifacts" + last
	case pending:
	}
	return "part of a cycle of parents through `" + string(e.Parent) + "`" + last + ", oldest first"
}
