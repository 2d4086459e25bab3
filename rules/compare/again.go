package compare

import (
	"fmt"
	"strings"

	"github.com/tachobench/tacho/internal/phrase"
)

// Again counts the jobs of a request that ran again after it had ended, such as those of a repair.
type Again struct {
	Succeeded, Failed, Cancelled int
	// Open are those that have not ended.
	Open int
}

// Words says in a sentence what became of the jobs that ran again; empty if there are none.
func (a Again) Words() string {
	all := a.Succeeded + a.Failed + a.Cancelled + a.Open
	if all == 0 {
		return ""
	}
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{a.Succeeded, "succeeded"}, {a.Failed, "failed"}, {a.Cancelled, "cancelled"}, {a.Open, "not done yet"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return fmt.Sprintf("%s after the request had ended: %s. The results are part of this report; the request stays as it ended.",
		phrase.Count(all, "job")+" ran again", strings.Join(parts, ", "))
}
