package farm

import (
	"time"

	"github.com/tachobench/tacho/scheduler"
)

// Usual returns the policy of a farm with one request at a time, for tests of parts that do not import the scheduler.
func Usual() scheduler.Policy {
	return scheduler.Policy{MaxInProgress: 1, ArtifactDeadline: 7 * 24 * time.Hour, ExpansionRetry: 30 * time.Second}
}
