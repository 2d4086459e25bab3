package projector

import (
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/graph"
)

// Samples are jobs of graphs that measure an artifact once more. Their results stand beside the base series. What a job is a
// sample of, its row says: no collector can report a result for another series.

// enqueueSample gives a new sample the priority at which it waits.
func (s *state) enqueueSample(j *jobRow, part *events.GraphPart) {
	r := s.requests[j.RequestID]
	if j.Sample == "" || r == nil {
		return
	}
	j.Priority = r.Priority
	if part != nil {
		if g := s.graphs[graphKey{j.RequestID, part.Graph}]; g != nil && !g.ended() {
			j.Priority = samplePriority(&g.row, r)
		}
	}
}

// graphPriority returns the priority of a graph as the table has it: empty for that of its request.
func graphPriority(p events.Priority) events.Priority {
	if slices.Contains(events.Priorities, p) {
		return p
	}
	return ""
}

// samplePriority returns the less urgent one of the priorities of a graph and of its request: a sample is never more urgent
// than its request.
func samplePriority(g *graphRow, r *requestRow) events.Priority {
	if g.Priority != "" && g.Priority.Level() > r.Priority.Level() {
		return priority(g.Priority)
	}
	return r.Priority
}

// moveSamples gives the open samples of a request their priority anew.
func (s *state) moveSamples(r *requestRow) {
	for key, g := range s.graphs {
		if key.request != r.ID || g.ended() || !g.row.Kind.Sampled() {
			continue
		}
		for _, id := range g.jobs {
			if j := s.jobs[id]; j != nil && j.Sample != "" && j.RequestID == r.ID && !j.State.Terminal() {
				j.Priority = samplePriority(&g.row, r)
				s.dirtyJobs[id] = true
			}
		}
	}
}

// graphPriorityChanged gives the open samples of a graph another priority.
func (s *state) graphPriorityChanged(m moment, f events.PriorityChanged) {
	g, r := s.graphs[graphKey{f.RequestID, *f.Graph}], s.requests[f.RequestID]
	if g == nil || r == nil || g.ended() || !g.row.Kind.Sampled() {
		s.refused++
		return
	}
	g.row.Priority = graphPriority(f.To)
	s.dirtyGraphs[g.key()] = true
	s.moveSamples(r)
	s.touchQueue(m)
}

// countCopies notes how many samples a graph takes of each job.
func (g *openGraph) countCopies(jobs []events.JobSpec) {
	for _, spec := range jobs {
		sample, ok := readmodel.ParseSample(spec.Sample)
		if ok && (graphKey{sample.Request, sample.Graph}) == g.key() && sample.Copy <= graph.MaxJobs {
			g.row.Copies = max(g.row.Copies, sample.Copy)
		}
	}
}

// graphCancelled notes that a graph was withdrawn. Its jobs end by facts of their own, and GraphEnded closes it.
func (s *state) graphCancelled(m moment, f events.GraphCancelled) {
	g := s.graphs[graphKey{f.RequestID, f.Graph}]
	if g == nil || g.ended() {
		s.refused++
		return
	}
	s.cancelGraph(m, g, f.Reason)
}

// cancelSamples withdraws the open graphs of samples, and of added jobs, of a request that was cancelled.
func (s *state) cancelSamples(m moment, f events.RequestCancelled) {
	for key, g := range s.graphs {
		if key.request == f.RequestID && !g.ended() && (g.row.Kind.Sampled() || g.row.Kind == events.GraphAdded) {
			s.cancelGraph(m, g, f.Reason)
		}
	}
}

func (s *state) cancelGraph(m moment, g *openGraph, reason string) {
	if g.row.CancelledAt == nil {
		g.row.CancelledAt, g.row.CancelReason = pointer(m.at), reason
		s.dirtyGraphs[g.key()] = true
	}
}

// noiseFound is a noise graph that has ended.
type noiseFound struct {
	graph readmodel.Graph
	at    time.Time
	seq   events.Seq
}

// findNoise notes that a noise graph has ended: what its samples differ by is the noise from then on.
func (s *state) findNoise(m moment, g *openGraph) {
	if g.row.Kind == events.GraphNoise && g.row.Copies > 1 {
		s.noises = append(s.noises, noiseFound{g.row, m.at, m.seq})
	}
}

// batchNoise adds the statements that store what noise graphs found. They must come after the results: the statement finds
// those that came before the end of the graph, also those of this batch.
func (s *state) batchNoise(b *pgx.Batch) {
	for _, n := range s.noises {
		b.Queue(statement("find_noise"), n.graph.RequestID, n.graph.Number, n.at, n.seq, n.graph.Samples())
	}
}
