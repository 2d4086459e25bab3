package readmodel

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/waits"
)

// WaitsFilter says of which waits somebody asks.
type WaitsFilter struct {
	// Window is how far back the window goes from Now.
	Window time.Duration
	Now    time.Time
	// Target is how long a run may wait. Targets are those of single lanes, or of targets for their matched jobs.
	Target  time.Duration
	Targets map[string]time.Duration
	// Lane selects one lane, or the matched jobs of a target; empty selects all.
	Lane string
}

// Waits is how long jobs waited for machines, and how long requests took.
type Waits struct {
	// MetricVersion is the version of the definitions: numbers of different versions are no series.
	MetricVersion int `json:"metric_version"`
	// From and To are the window. RunsFrom is where that of the runs begins: later than From if jobs of the time before have
	// left the tables.
	From     time.Time `json:"from"`
	RunsFrom time.Time `json:"runs_from"`
	To       time.Time `json:"to"`
	// Lanes are the lanes by name, and after each target's lanes its matched jobs. Kinds are the kinds of requests; they do not
	// depend on the lane that was asked for.
	Lanes []LaneWaits `json:"lanes"`
	Kinds []KindTimes `json:"kinds"`
}

// LaneWaits is how long the jobs of a lane waited.
type LaneWaits struct {
	// Lane is the lane, such as linux-amd64/0. For matched jobs, which wait for any machine, it is what they measure: a target.
	Lane     string `json:"lane"`
	Matched  bool   `json:"matched,omitempty"`
	TargetMS int64  `json:"target_ms"`
	waits.Stats
	// Again are the jobs that people asked for by a wish: reruns, repairs and samples. They are in no other number.
	Again waits.Stats `json:"again"`
	// Retries counts the further attempts of Runs. Their waits are in no number.
	Retries int `json:"retries"`
}

// KindTimes is how long the requests of a kind took that ended in the window with results.
type KindTimes struct {
	Kind     events.RequestKind `json:"kind"`
	Requests int                `json:"requests"`
	// Open counts further ones that wait for their report.
	Open      int       `json:"open,omitempty"`
	Whole     Quantiles `json:"whole"`
	Artifact  Quantiles `json:"artifact"`
	Admission Quantiles `json:"admission"`
	Execution Quantiles `json:"execution"`
	Report    Quantiles `json:"report"`
}

// Quantiles are two of them, in milliseconds; nil without requests.
type Quantiles struct {
	P50MS *int64 `json:"p50_ms"`
	P90MS *int64 `json:"p90_ms"`
}

// waitRow is a run as the query returns it.
type waitRow struct {
	Target     events.Target `db:"target"`
	Set        events.Set    `db:"set"`
	Matched    bool          `db:"matched"`
	Wished     bool          `db:"wished"`
	Retries    int           `db:"retries"`
	LogReadyAt time.Time     `db:"log_ready_at"`
	LogBegunAt *time.Time    `db:"log_begun_at"`
	LogEndedAt *time.Time    `db:"log_ended_at"`
	Expired    bool          `db:"expired"`
}

func (w waitRow) lane() string {
	if w.Matched {
		return string(w.Target)
	}
	return events.Lane{Target: w.Target, Set: w.Set}.String()
}

func (w waitRow) run() waits.Run {
	return waits.Run{Ready: w.LogReadyAt, Begun: orZero(w.LogBegunAt), Ended: orZero(w.LogEndedAt), Expired: w.Expired}
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// settledRow is how far the report of a request is.
type settledRow struct {
	Reports      bool       `db:"reports"`
	LogSettledAt *time.Time `db:"log_settled_at"`
}

// requestTimes is a request as the query returns it.
type requestTimes struct {
	Kind           events.RequestKind `db:"kind"`
	LogCreatedAt   *time.Time         `db:"log_created_at"`
	LogArtifactsAt *time.Time         `db:"log_artifacts_at"`
	LogStartedAt   *time.Time         `db:"log_started_at"`
	LogEndedAt     *time.Time         `db:"log_ended_at"`
	Reports        bool               `db:"reports"`
	LogSettledAt   *time.Time         `db:"log_settled_at"`
}

func (r requestTimes) instants() waits.Instants {
	return waits.Instants{
		Created: orZero(r.LogCreatedAt), Ready: orZero(r.LogArtifactsAt), Started: orZero(r.LogStartedAt), Ended: orZero(r.LogEndedAt),
		Reported: orZero(r.LogSettledAt), Reports: r.Reports,
	}
}

// Waits returns how long jobs waited, and how long requests took.
func (r *Reader) Waits(ctx context.Context, f WaitsFilter) (Waits, error) {
	w := Waits{MetricVersion: waits.Version, From: f.Now.Add(-f.Window), To: f.Now, Lanes: []LaneWaits{}, Kinds: []KindTimes{}}
	w.RunsFrom = w.From
	var runs []waitRow
	var times []requestTimes
	err := r.snapshot(ctx, func(tx pgx.Tx) error {
		left, err := leftBefore(ctx, tx)
		if err != nil {
			return err
		}
		// A job that was ready after that time ended after it, and is there. Its target lies later still.
		longest := f.longest()
		if from := left.Add(longest); !left.IsZero() && from.After(w.From) {
			w.RunsFrom = from
		}
		runs, err = all[waitRow](ctx, tx, "waits_runs", pgx.NamedArgs{"since": w.RunsFrom.Add(-longest), "until": w.To, "lane": f.Lane})
		if err != nil {
			return err
		}
		times, err = all[requestTimes](ctx, tx, "waits_requests", pgx.NamedArgs{"since": w.From, "until": w.To})
		return err
	})
	if err != nil {
		return w, err
	}
	w.judge(runs, f)
	w.measure(times, f.Now)
	return w, nil
}

// target returns how long a run of a lane may wait.
func (f WaitsFilter) target(lane string) time.Duration {
	if own, ok := f.Targets[lane]; ok {
		return own
	}
	return f.Target
}

func (f WaitsFilter) longest() time.Duration {
	longest := f.Target
	for _, own := range f.Targets {
		longest = max(longest, own)
	}
	return longest
}

// leftBefore returns the time before which jobs that have ended have left the tables; the zero time if none have.
func leftBefore(ctx context.Context, tx pgx.Tx) (time.Time, error) {
	list, err := values[[]byte](ctx, tx, "last_retirement", events.RetentionSubject())
	if err != nil || len(list) == 0 {
		return time.Time{}, err
	}
	var said events.JobsRetired
	err = json.Unmarshal(list[0], &said)
	if err != nil {
		return time.Time{}, fmt.Errorf("read when jobs left the tables: %w", err)
	}
	before, err := time.Parse(time.RFC3339, said.EndedBefore)
	if err != nil {
		return time.Time{}, nil // the fold took no jobs out for it
	}
	return before, nil
}

// judge fills in the lanes.
func (w *Waits) judge(rows []waitRow, f WaitsFilter) {
	type key struct {
		lane    string
		matched bool
	}
	type group struct {
		of      waitRow
		runs    [2][]waits.Run // those of requests, and those that were asked for by a wish
		retries int
	}
	window, groups := waits.Window{From: w.RunsFrom, To: w.To}, map[key]*group{}
	for _, row := range rows {
		k := key{row.lane(), row.Matched}
		g := groups[k]
		if g == nil {
			g = &group{of: row}
			groups[k] = g
		}
		apart, run := 0, row.run()
		if row.Wished {
			apart = 1
		}
		g.runs[apart] = append(g.runs[apart], run)
		if v := run.In(window, f.target(k.lane)); !row.Wished && (v == waits.Hit || v == waits.Miss) {
			g.retries += row.Retries
		}
	}
	order := slices.SortedFunc(maps.Keys(groups), func(a, b key) int {
		x, y := groups[a].of, groups[b].of
		return cmp.Or(cmp.Compare(x.Target, y.Target), compareBool(a.matched, b.matched), cmp.Compare(x.Set, y.Set))
	})
	for _, k := range order {
		g, target := groups[k], f.target(k.lane)
		l := LaneWaits{
			Lane: k.lane, Matched: k.matched, TargetMS: target.Milliseconds(), Retries: g.retries,
			Stats: waits.Judge(g.runs[0], window, target, w.To), Again: waits.Judge(g.runs[1], window, target, w.To),
		}
		if l.Runs+l.Waiting+l.Again.Runs+l.Again.Waiting > 0 {
			w.Lanes = append(w.Lanes, l)
		}
	}
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// measure fills in the kinds of requests.
func (w *Waits) measure(rows []requestTimes, now time.Time) {
	for _, kind := range []events.RequestKind{events.Master, events.Try, events.Release} {
		k := KindTimes{Kind: kind}
		var over []waits.Stages
		for _, row := range rows {
			if row.Kind != kind {
				continue
			}
			if s := row.instants().Split(now); s.Open {
				k.Open++
			} else {
				over = append(over, s)
			}
		}
		k.Requests = len(over)
		for to, part := range map[*Quantiles]func(waits.Stages) int64{
			&k.Whole:     func(s waits.Stages) int64 { return s.WholeMS },
			&k.Artifact:  func(s waits.Stages) int64 { return s.ArtifactMS },
			&k.Admission: func(s waits.Stages) int64 { return s.AdmissionMS },
			&k.Execution: func(s waits.Stages) int64 { return s.ExecutionMS },
			&k.Report:    func(s waits.Stages) int64 { return s.ReportMS },
		} {
			times := make([]time.Duration, len(over))
			for i, s := range over {
				times[i] = time.Duration(part(s)) * time.Millisecond
			}
			*to = Quantiles{waits.Quantile(times, 50), waits.Quantile(times, 90)}
		}
		if k.Requests+k.Open > 0 {
			w.Kinds = append(w.Kinds, k)
		}
	}
}

// Stages returns how the time of a request was spent, until now if it goes on. It is nil for requests of tables that an earlier
// version filled.
func (r *Reader) Stages(ctx context.Context, of Request, now time.Time) (*waits.Stages, error) {
	if of.LogCreatedAt == nil {
		return nil, nil
	}
	report, err := one[settledRow](ctx, r.pool, "stages", of.ID)
	if err != nil {
		return nil, err
	}
	times := requestTimes{of.Kind, of.LogCreatedAt, of.LogArtifactsAt, of.LogStartedAt, of.LogEndedAt, report.Reports, report.LogSettledAt}
	s := times.instants().Split(now)
	return &s, nil
}
