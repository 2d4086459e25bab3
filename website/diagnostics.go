package website

import (
	"net/http"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// diagnosedShown is how many jobs of a graph a page names that had something to say; the API has all.
const diagnosedShown = 50

func (s *Server) diagnostics(_ http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	id, err := s.Reader.FindRequestID(r.Context(), r.PathValue("request"))
	if err != nil {
		return nil, err
	}
	return s.long.Diagnostics(r.Context(), id)
}

// addDiagnostics fills in what the jobs of the graphs of a request had to say.
func (s *Server) addDiagnostics(r *http.Request, id events.RequestID, graphs []readmodel.Graph) error {
	said, err := s.long.Diagnostics(r.Context(), id)
	for _, d := range said {
		for i := range graphs {
			if d.Graph != nil && *d.Graph == graphs[i].Number {
				graphs[i].Diagnostics = &d
			}
		}
	}
	return err
}

// diagnosticsView is what the commands of a job had to say, as its page shows it.
type diagnosticsView struct {
	readmodel.JobDiagnostics
	// Shown are the texts that no job before it in its graph had said. SaidBy is the first job that said another one.
	Shown  []readmodel.Diagnostic
	Others int
	SaidBy events.JobID
}

func newDiagnosticsView(d *readmodel.JobDiagnostics) *diagnosticsView {
	if d == nil {
		return nil
	}
	v := diagnosticsView{JobDiagnostics: *d, Shown: d.Fresh()}
	v.Others, v.SaidBy = d.Duplicates()
	return &v
}

// graphSaid is what the jobs of a graph had to say, as the page of its request shows it.
type graphSaid struct {
	readmodel.GraphDiagnostics
	Shown []readmodel.DiagnosedJob
	More  int
}

func newGraphsSaid(graphs []readmodel.GraphDiagnostics) []graphSaid {
	said := make([]graphSaid, len(graphs))
	for i, g := range graphs {
		said[i] = graphSaid{GraphDiagnostics: g, Shown: g.Jobs[:min(len(g.Jobs), diagnosedShown)]}
		said[i].More = len(g.Jobs) - len(said[i].Shown)
	}
	return said
}
