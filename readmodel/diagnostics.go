package readmodel

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/graph"
)

// DiagnosticRow is one row of diagnostic: a text that the commands of an attempt printed (events.Diagnostic).
type DiagnosticRow struct {
	Token events.Seq   `db:"token"`
	Place int          `db:"place"`
	JobID events.JobID `db:"job_id"`
	Level string       `db:"level"`
	Code  string       `db:"code"`
	Text  string       `db:"text"`
	Hash  string       `db:"hash"`
	Count int          `db:"count"`
}

// Diagnosed is how much the commands of a job had to say. What a job took over, another one said.
type Diagnosed struct {
	Token events.Seq `json:"token,omitempty"`
	// Kept counts the texts that are kept, More the other ones.
	Kept int `json:"kept,omitempty"`
	More int `json:"more,omitempty"`
	// Lines are how many lines were recognised, by level.
	Lines map[string]int `json:"lines,omitempty"`
}

// Diagnostic is a text that the commands of a job printed.
type Diagnostic struct {
	Level string `db:"level" json:"level"`
	Code  string `db:"code" json:"code,omitempty"`
	Text  string `db:"text" json:"text"`
	Hash  string `db:"hash" json:"hash"`
	// Count is how many lines are equal but for what differs by chance.
	Count int `db:"count" json:"count"`
	// SaidBy is the job of the graph before this one that said the same first: it shows it; empty if this one does.
	SaidBy events.JobID `db:"said_by" json:"said_by,omitempty"`
}

// JobDiagnostics is what the commands of a job had to say.
type JobDiagnostics struct {
	JobID events.JobID `json:"job_id"`
	// Of is the job that said it, if this one took over what that one did.
	Of    events.JobID   `json:"of,omitempty"`
	Lines map[string]int `json:"lines"`
	Items []Diagnostic   `json:"items"`
	// More counts the different texts that are not among Items.
	More int `json:"more,omitempty"`
}

// Fresh returns the texts that no job of the graph before it had said.
func (d JobDiagnostics) Fresh() []Diagnostic {
	return slices.DeleteFunc(slices.Clone(d.Items), func(i Diagnostic) bool { return i.SaidBy != "" })
}

// Duplicates returns how many texts other jobs show, and the first of these jobs.
func (d JobDiagnostics) Duplicates() (count int, first events.JobID) {
	for _, i := range d.Items {
		if i.SaidBy == "" {
			continue
		}
		if count++; count == 1 {
			first = i.SaidBy
		}
	}
	return count, first
}

// Words says how many lines there are of each level: "3 × error, 12 × warning".
func (d JobDiagnostics) Words() string { return levelWords(d.Lines) }

func levelWords(lines map[string]int) string {
	var words []string
	for _, level := range slices.Sorted(maps.Keys(lines)) {
		words = append(words, strconv.Itoa(lines[level])+" × "+level)
	}
	return strings.Join(words, ", ")
}

// DiagnosedJob is a job of a graph that had something to say.
type DiagnosedJob struct {
	// Graph is the number of its graph; -1 for none.
	Graph  int          `db:"graph" json:"-"`
	Number int          `db:"number" json:"number"`
	JobID  events.JobID `db:"job_id" json:"job_id"`
	graph.Label
	Diagnosed Diagnosed `db:"diagnosed" json:"-"`
	// Lines are how many lines were recognised, by level; Different how many texts differ, and Duplicates how many of these a job
	// of the graph before it had said.
	Lines      map[string]int `db:"-" json:"lines"`
	Different  int            `db:"-" json:"different"`
	Duplicates int            `db:"duplicates" json:"duplicates,omitempty"`
	// SaidBy is the job that said it, if this one took over what that one did.
	SaidBy events.JobID `db:"said_by" json:"of,omitempty"`
}

// Words says what the job had to say: "12 × warning, 3 different (1 duplicate)".
func (j DiagnosedJob) Words() string { return saidWords(j.Lines, j.Different, j.Duplicates) }

// GraphDiagnostics is what the jobs of a graph had to say.
type GraphDiagnostics struct {
	// Graph is its number; nil for the jobs of the request that are in no graph.
	Graph *int           `json:"graph"`
	Lines map[string]int `json:"lines"`
	// Different counts the texts that differ from one another, Duplicates those that a job said after another one.
	Different  int            `json:"different"`
	Duplicates int            `json:"duplicates,omitempty"`
	Jobs       []DiagnosedJob `json:"jobs"`
}

// Words is as that of a job.
func (g GraphDiagnostics) Words() string { return saidWords(g.Lines, g.Different, g.Duplicates) }

func saidWords(lines map[string]int, different, duplicates int) string {
	total := 0
	for _, n := range lines {
		total += n
	}
	words := levelWords(lines)
	if total != different {
		words += ", " + strconv.Itoa(different) + " different"
	}
	if duplicates > 0 {
		words += " (" + phrase.Count(duplicates, "duplicate") + ")"
	}
	return words
}

// jobDiagnostics returns what a job had to say; nil for nothing.
func jobDiagnostics(ctx context.Context, tx pgx.Tx, j Job) (*JobDiagnostics, error) {
	d := j.Diagnosed
	if j.ReusedFrom != "" {
		origin, err := jobs(ctx, tx, JobFilter{ID: j.ReusedFrom})
		if err != nil || len(origin) == 0 {
			return nil, err
		}
		d = origin[0].Diagnosed
	}
	if d == nil {
		return nil, nil
	}
	items, err := all[Diagnostic](ctx, tx, "diagnostics_of_job", j.ID)
	if len(items)+d.More == 0 {
		return nil, err
	}
	return &JobDiagnostics{JobID: j.ID, Of: j.ReusedFrom, Lines: d.Lines, Items: items, More: d.More}, err
}

// Diagnostics returns what the jobs of a request had to say, by graph; none for nothing.
func (r *Reader) Diagnostics(ctx context.Context, request events.RequestID) ([]GraphDiagnostics, error) {
	rows, err := all[DiagnosedJob](ctx, r.pool, "diagnosed_jobs", request)
	list := []GraphDiagnostics{}
	for i, row := range rows {
		if i == 0 || rows[i-1].Graph != row.Graph {
			next := GraphDiagnostics{Lines: map[string]int{}}
			if row.Graph >= 0 {
				next.Graph = &row.Graph
			}
			list = append(list, next)
		}
		row.Lines, row.Different = row.Diagnosed.Lines, row.Diagnosed.Kept+row.Diagnosed.More
		g := &list[len(list)-1]
		for level, n := range row.Lines {
			g.Lines[level] += n
		}
		g.Different, g.Duplicates = g.Different+row.Different-row.Duplicates, g.Duplicates+row.Duplicates
		g.Jobs = append(g.Jobs, row)
	}
	return list, err
}
