package website

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// peopled remembers that the farm has machines of pools: it stays so, even if they are all removed.
func (s *Server) peopled(ctx context.Context) bool {
	return remembered(ctx, &s.hasMachines, s.Reader.HasMachines)
}

func (s *Server) park(_ http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	return s.parked(r)
}

// parked returns the machines. The states of their collectors are those that the heartbeats tell.
func (s *Server) parked(r *http.Request) (readmodel.Machines, error) {
	found, err := s.Reader.Machines(r.Context(), s.Clock())
	if err != nil {
		return found, err
	}
	collectors, err := s.machines(r)
	states := make(map[events.CollectorName]client.CollectorState, len(collectors))
	for _, c := range collectors {
		states[c.Name] = c.State
	}
	for _, m := range found.Machines {
		for i := range m.Collectors {
			if state, known := states[m.Collectors[i].Name]; known {
				m.Collectors[i].State = readmodel.CollectorState(state)
			}
		}
	}
	return found, err
}

func (s *Server) oneMachine(_ http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	found, err := s.parked(r)
	if err != nil {
		return nil, err
	}
	name := events.MachineName(r.PathValue("name"))
	i := slices.IndexFunc(found.Machines, func(m readmodel.Machine) bool { return m.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("machine %s: %w", name, readmodel.ErrNotFound)
	}
	return found.Machines[i], nil
}

// parkView is the machines as their page shows them.
type parkView struct {
	Machines []offerView
	Unserved []readmodel.Unserved
	Hints    []readmodel.MemoryHint
}

// offerView is a machine as the page shows it.
type offerView struct {
	readmodel.Machine
	// Limits says whether what jobs reserve is enforced; empty if that is not known. Loose is set if it is not.
	Limits string
	Loose  bool
	// Alert says that jobs find too little memory, many times in a row; nil for none.
	Alert *readmodel.Alert
}

// limit says of a machine what one of its collectors says of limits. One that does not enforce them counts for all.
func (v *offerView) limit(c readmodel.Collector) {
	switch enforced, why, known := c.Enforced(); {
	case !known || c.RemovedAt != nil || c.Machine != v.Name:
	case !enforced:
		v.Limits, v.Loose = "not enforced, jobs can use more than they reserve: "+why, true
	case !v.Loose:
		v.Limits = "enforced"
	}
}

// Memory and FreeMemory are in bytes.
func (v offerView) Memory() int64     { return v.MemoryMiB << 20 }
func (v offerView) FreeMemory() int64 { return v.FreeMemoryMiB << 20 }

// DeviceList returns the devices with their numbers: "2 gpu".
func (v offerView) DeviceList() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(v.Devices)) {
		list = append(list, fmt.Sprintf("%d %s", v.Devices[name], name))
	}
	return list
}

func (s *Server) machinesPage(r *http.Request) (view, error) {
	found, err := s.parked(r)
	v := parkView{Unserved: found.Unserved, Hints: found.Hints}
	if err != nil {
		return view{}, err
	}
	rows, err := s.Reader.Collectors(r.Context())
	if err != nil {
		return view{}, err
	}
	alerts, err := s.Reader.Alerts(r.Context(), 0)
	if err != nil {
		return view{}, err
	}
	for _, m := range found.Machines {
		shown := offerView{Machine: m}
		for _, c := range rows {
			shown.limit(c)
		}
		i := slices.IndexFunc(alerts, func(a readmodel.Alert) bool { return a.Kind == events.AlertHostFull && a.About == string(m.Name) })
		if i >= 0 {
			shown.Alert = &alerts[i]
		}
		v.Machines = append(v.Machines, shown)
	}
	return view{template: "machines", title: "Machines", data: v}, nil
}
