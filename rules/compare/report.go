package compare

import (
	"fmt"
	"io"
	"strings"

	"github.com/tachobench/tacho/events"
)

// Report is everything that Tacho says about an artifact, for example in a comment on GitHub. All text in it is
// foreign. The renderings make sure that it cannot mention a person, break a table, open HTML or move the cursor of a
// terminal.
type Report struct {
	// A is the artifact that B is compared with; empty when the parent of B is unknown.
	A, B string
	// Commit is set when B was built from a commit of its own, Ended when no more of it will be measured.
	Commit, Ended bool
	// Comparison is nil when there is nothing to compare; Measured is then how many test cases of B have results.
	Comparison *Comparison
	Measured   int
	// Failure says why the request for B failed; empty when it did not fail. Incomplete says in words what else may be
	// missing.
	Failure, Incomplete string
	// Again are the jobs that ran again after the request for B had ended.
	Again Again
	// Forced are the jobs of both that ran although not all that they need had succeeded.
	Forced []ForcedJob
	// Diagnostics say what the commands of the jobs for B had to say, for each graph, in words.
	Diagnostics []string
	// Notes say what is special about the definitions that either was measured with.
	Notes []string
	// FailedCases and FailedJobs are those of B, in any order.
	FailedCases []FailedCase
	FailedJobs  []FailedJob
	// The URLs are http or https URLs; an empty one gives no link.
	ComparisonURL, RequestURL string
}

// FailedCase is a test case of b that has an error instead of a result.
type FailedCase struct {
	Case events.TestCase `json:"case"`
	// Message has any number of lines. Reports show only the lines with the cause.
	Message string `json:"message"`
	// New is set when it did not fail for a.
	New bool `json:"new"`
}

// FailedJob is a job that failed.
type FailedJob struct {
	Name, Reason, URL string
	// A request can complete without its optional jobs.
	Optional bool
}

// commentLimit is how many bytes a report in a comment may have: GitHub's limit is 65,536 characters, and the reporter
// adds a line.
const commentLimit = 64_500

// graphsNamed is of how many graphs a report says what their commands had to say.
const graphsNamed = 5

// smallestLimit is the smallest size in bytes that a report can be cut to.
const smallestLimit = 16 << 10

// CommentOptions returns the options for a comment on GitHub.
func CommentOptions() Options { return Options{Brief: true, Limit: commentLimit} }

// Markdown writes a report for GitHub: the verdict, new failures, a table for each metric with its test cases folded
// away, largest change first, and all other failures. With a Limit in the options it leaves out the least important
// parts. It fails only when w does.
func Markdown(w io.Writer, r Report, o Options) error {
	o.Focus = false
	limit := 0
	if o.Limit > 0 {
		limit = max(o.Limit, smallestLimit)
	}
	news, failed := r.failedBlocks()
	blocks := []block{news}
	if r.Comparison != nil {
		blocks = append(blocks, metricBlocks(*r.Comparison, o)...)
	}
	blocks = append(blocks, failed...)
	if r.Comparison != nil {
		blocks = append(blocks, absentBlock("New in b", r.Comparison.New, o), absentBlock("Missing in b", r.Comparison.Missing, o))
	}
	rest := "see the " + link("comparison", r.ComparisonURL)
	if r.ComparisonURL == "" {
		rest = "see `tacho compare`"
	}
	_, err := io.WriteString(w, fit(r.head(), blocks, rest, limit))
	return err
}

// maxMachines is how many machines a report names.
const maxMachines = 5

// named returns the first machines of a list, each as name writes it, and how many more there are.
func named(machines []string, name func(string) string) string {
	var parts []string
	for _, m := range machines[:min(len(machines), maxMachines)] {
		parts = append(parts, name(m))
	}
	text := strings.Join(parts, ", ")
	if more := len(machines) - len(parts); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// head returns the part that is never cut. Every piece of it is bounded.
func (r Report) head() string {
	var b strings.Builder
	switch {
	case r.Commit && r.Ended && r.ComparisonURL != "":
		fmt.Fprintf(&b, "Finished benchmarking commit (%s): %s.\n\n", commit(r.B), link("comparison URL", r.ComparisonURL))
	case r.Commit && r.Ended:
		fmt.Fprintf(&b, "Finished benchmarking commit (%s).\n\n", commit(r.B))
	case r.A != "" && r.B != "" && r.Comparison != nil:
		fmt.Fprintf(&b, "Comparison of %s (b) with %s (a).\n\n", code(r.B), code(r.A))
	case r.B != "":
		fmt.Fprintf(&b, "Report on %s.\n\n", code(r.B))
	}
	w := r.say(code)
	fmt.Fprintf(&b, "**Overall result: %s%s**\n\n%s", w.Outcome.mark(), w.Overall, w.Sentence)
	if r.Comparison != nil && len(r.Comparison.Summaries) > 0 && r.Commit && r.Ended && r.A != "" {
		fmt.Fprintf(&b, " Compared with %s.", commit(r.A))
	}
	if c := r.Comparison; c != nil && len(c.Machines) > 0 {
		fmt.Fprintf(&b, " Measured on %s.", named(c.Machines, code))
	}
	b.WriteString("\n")
	if c := r.Comparison; c != nil && c.Attention {
		fmt.Fprintf(&b, "\nDeserves attention: %s.\n", c.AttentionReason)
	}
	if r.Failure != "" {
		fmt.Fprintf(&b, "\n> **The request failed:** %s\n", prose(cause(r.Failure)))
	}
	if again := r.Again.Words(); again != "" {
		fmt.Fprintf(&b, "\n> **Run again:** %s\n", again)
	}
	if r.Incomplete != "" {
		fmt.Fprintf(&b, "\n> **Incomplete:** %s\n", prose(r.Incomplete))
	}
	if forced := ForcedWords(r.Forced); forced != "" {
		fmt.Fprintf(&b, "\n> **Forced:** %s\n", prose(forced))
	}
	for _, said := range r.Diagnostics[:min(len(r.Diagnostics), graphsNamed)] {
		fmt.Fprintf(&b, "\n> **Diagnostics:** %s\n", prose(said))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "\n> **Definitions:** %s\n", prose(note))
	}
	if r.RequestURL != "" {
		fmt.Fprintf(&b, "\nSee the %s for jobs and errors.\n", link("request", r.RequestURL))
	}
	return b.String()
}
