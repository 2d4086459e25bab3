package hostile

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
)

// Shapes are the forms of all stored events: of each type in each version, what the golden files hold.
type Shapes struct {
	all []shape
	// specs are the forms of a job, wherever one stands.
	specs []any
	// Hashed lets the id of each job be that of its identity. The tables have identities, the ledger has ids.
	Hashed bool
}

// shape is one type of event in one version.
type shape struct {
	name  string
	on    events.Subject
	forms []any
}

// ShapesIn reads the golden files of a directory.
func ShapesIn(t testing.TB, dir string) *Shapes {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files: ", err)
	}
	s, at := &Shapes{}, map[string]int{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var golden struct {
			Subject events.Subject    `json:"subject"`
			Header  map[string]string `json:"header"`
			Data    any               `json:"data"`
		}
		if err := json.Unmarshal(raw, &golden); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(golden.Header[events.HeaderType], events.TypePrefix)
		if _, known := at[name]; !known {
			at[name] = len(s.all)
			s.all = append(s.all, shape{name: name, on: golden.Subject})
		}
		one := &s.all[at[name]]
		one.forms = append(one.forms, golden.Data)
		s.specs = append(s.specs, specsIn(golden.Data)...)
	}
	return s
}

// Unparked leaves out the parks: after a new one, tables are to be filled anew.
func (s *Shapes) Unparked() {
	s.all = slices.DeleteFunc(s.all, func(one shape) bool { return one.on == events.ParkSubject() })
}

// specsIn returns the jobs in the data of an event.
func specsIn(data any) (specs []any) {
	switch data := data.(type) {
	case []any:
		for _, one := range data {
			specs = append(specs, specsIn(one)...)
		}
	case map[string]any:
		if isSpec(data) {
			return []any{data}
		}
		for _, key := range slices.Sorted(maps.Keys(data)) {
			specs = append(specs, specsIn(data[key])...)
		}
	}
	return specs
}

func isSpec(form map[string]any) bool { return form["artifact"] != nil && form["backend"] != nil }

// Log is a log in which any fact stands anywhere. The same seed gives the same log. Its ids are few, so that its facts
// meet. Some facts fit what the log says before them, so that they count.
type Log struct {
	*Shapes
	r     *rand.Rand
	seq   events.Seq
	pool  []events.JobSpec
	works map[events.Lane]*held
	// owed are facts that follow the one before.
	owed []events.Fact
	// name is the type of the event that is being made.
	name string
}

// held is what the log says about a lane.
type held struct {
	place, last uint64
	over        bool
	jobs        map[uint64]events.JobID
	token       events.Seq
	by          events.CollectorName
}

// Any begins the log of a seed.
func (s *Shapes) Any(seed uint64) *Log {
	l := &Log{Shapes: s, r: rand.New(rand.NewPCG(seed, 11)), works: map[events.Lane]*held{}}
	for range 4 {
		raw, err := json.Marshal(l.object("job", s.specs))
		var spec events.JobSpec
		if err != nil || json.Unmarshal(raw, &spec) != nil {
			continue
		}
		spec.Round = 0
		spec.ID = spec.First()
		l.pool = append(l.pool, spec)
	}
	return l
}

// Next returns the next event. None is on a subject with an empty token: no server takes one.
func (l *Log) Next() (m events.Stored) {
	l.seq++
	for m = l.next(); strings.Contains(string(m.Subject)+".", ".."); {
		m = l.next()
	}
	l.follow(m)
	return m
}

func (l *Log) next() events.Stored {
	if len(l.owed) == 0 && l.r.IntN(12) == 0 {
		l.owed = l.graph()
	}
	if len(l.owed) > 0 {
		f := l.owed[0]
		l.owed = l.owed[1:]
		raw, _ := json.Marshal(f) // facts are data
		return l.store(events.TypeOf(f), f.Subject(), raw)
	}
	of := l.all[l.r.IntN(len(l.all))]
	for l.r.IntN(3) > 0 && !central(of.name) {
		of = l.all[l.r.IntN(len(l.all))]
	}
	l.name = of.name
	data := l.object("", of.forms)
	if l.r.IntN(4) > 0 {
		l.fit(data)
	}
	raw, _ := json.Marshal(data) // it was made from JSON
	return l.store(of.name, of.on, raw)
}

// central reports whether events of a type are about requests, jobs and graphs.
func central(name string) bool {
	for _, family := range []string{"request.", "job.", "jobs.", "graph.", "attempt.", "output.", "priority.", "lane."} {
		if strings.HasPrefix(name, family) {
			return true
		}
	}
	return false
}

// store returns an event of a type with its data, on its subject. on is the subject of such an event.
func (l *Log) store(name string, on events.Subject, data []byte) events.Stored {
	at := noon.Add(moments[l.r.IntN(len(moments))]).Add(seconds(l.seq))
	m := events.Stored{Seq: l.seq, Subject: on, StoredAt: noon.Add(seconds(l.seq)), Data: data, Header: map[string]string{
		events.HeaderType: events.TypePrefix + name, events.HeaderID: fmt.Sprint("e", l.seq), events.HeaderTime: events.TimeText(at),
		events.HeaderCause: fmt.Sprint(uint64(l.seq) / 2), events.HeaderRoot: "root", events.HeaderActor: "any",
	}}
	e, err := events.Decode(m)
	if err != nil { // litter
		return m
	}
	if c, is := e.Fact.(events.CollectorFact); is && on.Family() == "collector" {
		m.Subject = events.CollectorSubject(c.Whose())
	} else {
		m.Subject = e.Fact.Subject()
	}
	return m
}

// follow notes what an event says about a lane.
func (l *Log) follow(m events.Stored) {
	e, err := events.Decode(m)
	if err != nil {
		return
	}
	// The others say nothing about it.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.JobDispatched:
		w := l.work(f.Job.Lane())
		w.last = max(w.last, f.Place)
		w.jobs[f.Place] = f.Job.ID
	case events.JobDequeued:
		w := l.work(f.Lane)
		w.place, w.over, w.token, w.by = f.Place, false, l.seq, f.Collector
	case events.JobFinished, events.JobMoved:
		w := l.work(f.(events.WorkFact).Where())
		w.over, w.token = true, 0
	case events.AttemptLost, events.AttemptReleased:
		l.work(f.(events.WorkFact).Where()).token = 0
	}
}

func (l *Log) work(name events.Lane) *held {
	w := l.works[name]
	if w == nil {
		w = &held{jobs: map[uint64]events.JobID{}}
		l.works[name] = w
	}
	return w
}

// fit lets a fact about a lane tell of what the lane holds.
func (l *Log) fit(data map[string]any) {
	known := slices.SortedFunc(maps.Keys(l.works), func(a, b events.Lane) int { return strings.Compare(a.String(), b.String()) })
	if l.name == "job.dispatched.v1" {
		if spec, is := data["job"].(events.JobSpec); is {
			data["place"] = l.work(spec.Lane()).last + 1
		}
		return
	}
	if data["job_id"] == nil && data["job"] == nil || data["lane"] == nil || len(known) == 0 {
		return
	}
	lane := known[l.r.IntN(len(known))]
	w := l.works[lane]
	place := w.place
	if w.over || place == 0 {
		place++
	}
	id := w.jobs[place]
	data["lane"], data["job_id"] = lane, id
	if data["place"] != nil {
		data["place"] = place
	}
	if data["token"] != nil {
		data["token"], data["collector"] = w.token, w.by
	}
	if _, is := data["job"].(events.JobSpec); is {
		delete(data, "job_id")
		data["job"] = l.specOf(id)
	}
}

func (l *Log) specOf(id events.JobID) events.JobSpec {
	for _, spec := range l.pool {
		for range 3 {
			if spec.ID == id {
				return spec
			}
			spec = spec.Again()
		}
	}
	return events.JobSpec{ID: id}
}

// graph returns facts that make a graph whole, or nearly.
func (l *Log) graph() []events.Fact {
	id, number, n := events.RequestID(l.one("r1", "r2", "r3")), l.r.IntN(2), 1+l.r.IntN(3)
	part := &events.GraphPart{Graph: number}
	made := events.JobsCreated{RequestID: id, Key: l.one("", "k1"), Graph: part}
	for i := range n {
		if spec := l.spec(); l.r.IntN(4) > 0 {
			part.Rank = append(part.Rank, l.r.IntN(4))
			part.CostMS = append(part.CostMS, int64(l.r.IntN(4)))
			made.Jobs = append(made.Jobs, spec)
		} else {
			part.Shared = append(part.Shared, events.SharedJob{Number: i, ID: spec.ID, Added: l.r.IntN(2) == 0, Optional: l.r.IntN(3) == 0})
		}
	}
	needs := 0
	for range l.r.IntN(3) {
		on := []int{l.r.IntN(n)}
		part.Needs = append(part.Needs, events.JobNeeds{Job: l.r.IntN(n), On: on, Until: events.Until(l.one("", "ended")), Output: l.one("", "", "out")})
		needs += len(on)
	}
	kinds := []events.GraphKind{events.GraphInitial, events.GraphBackfill, events.GraphRepair, events.GraphRetrigger, events.GraphAdded}
	created := events.GraphCreated{
		RequestID: id, Graph: number, Kind: kinds[l.r.IntN(len(kinds))], Jobs: n, Needs: needs, OnFailure: events.OnFailure(l.one("", "fail-fast")),
		Deadline: l.one("", times[0]),
	}
	facts := []events.Fact{events.RequestStarted{RequestID: id, Definitions: digest, Jobs: n, Graphs: 1}, created, made}
	return facts[l.r.IntN(3):]
}

// spec returns a job of the log in one of its rounds.
func (l *Log) spec() events.JobSpec {
	if len(l.pool) == 0 {
		return events.JobSpec{ID: "j1"}
	}
	spec := l.pool[l.r.IntN(len(l.pool))]
	for range []int{0, 0, 0, 1, 2}[l.r.IntN(5)] {
		spec = spec.Again()
	}
	if spec.Matched && l.r.IntN(2) == 0 {
		on := lanes[l.r.IntN(len(lanes))]
		spec.On = &on
	}
	switch n := l.r.IntN(24); {
	case l.Hashed && (n < 2 || n == 3):
	case n == 0:
		spec.ID = "j1"
	case n == 1:
		spec.Round = numbers[l.r.IntN(len(numbers))]
	case n == 2:
		spec.RequestID = events.RequestID(l.one("r1", "r2", "r3"))
	case n == 3:
		spec.Matched = !spec.Matched
	case n == 4 && spec.Chunk != nil:
		spec.Chunk = &events.Chunk{Number: spec.Chunk.Number, Of: spec.Chunk.Of, Units: []events.Benchmark{"b0"}, Part: l.r.IntN(2000) - 100}
	}
	return spec
}

func (l *Log) one(list ...string) string { return list[l.r.IntN(len(list))] }

// FoldAny gives f so many logs of so many events. f returns in words what is wrong, and how many events it looked at;
// empty if nothing is. A failure names the seed, which
// TACHO_SEED repeats, and shows the events that are enough for it.
func (s *Shapes) FoldAny(t testing.TB, logs uint64, length int, f func([]events.Stored) (n int, why string)) {
	t.Helper()
	first, count := seeds(t, logs)
	for seed := first; seed-first < count; seed++ {
		all := s.log(seed, length)
		n, why := safely(f, all)
		if why == "" {
			continue
		}
		all = all[:n]
		for n := len(all) - 1; n >= 0; n-- { // the last ones first
			less := slices.Delete(slices.Clone(all), n, n+1)
			if n, why := safely(f, less); why != "" {
				all = less[:n]
			}
		}
		for _, m := range all {
			t.Logf("%d %s %s %s", m.Seq, m.Subject, strings.TrimPrefix(m.Header[events.HeaderType], events.TypePrefix), m.Data)
		}
		_, less := safely(f, all)
		t.Fatalf("repeat with TACHO_SEED=%d: %s\nfor the events above it is: %s", seed, why, less)
	}
}

// EachLog gives f so many logs of so many events, each in a test of its own that has the name of the seed.
func (s *Shapes) EachLog(t *testing.T, logs uint64, length int, f func(*testing.T, []events.Stored)) {
	t.Helper()
	first, count := seeds(t, logs)
	for seed := first; seed-first < count; seed++ {
		t.Run(fmt.Sprintf("TACHO_SEED=%d", seed), func(t *testing.T) { f(t, s.log(seed, length)) })
	}
}

func (s *Shapes) log(seed uint64, length int) []events.Stored {
	log, all := s.Any(seed), make([]events.Stored, length)
	for i := range all {
		all[i] = log.Next()
	}
	return all
}

// safely calls f. A panic is what is wrong, too.
func safely(f func([]events.Stored) (int, string), all []events.Stored) (n int, why string) {
	defer func() {
		if r := recover(); r != nil {
			n, why = len(all), fmt.Sprintf("%v\n%s", r, debug.Stack())
		}
	}()
	return f(all)
}
