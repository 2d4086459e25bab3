package website

import (
	"net/http"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
)

func (s *Server) addMachine(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	var n control.NewMachine
	who, err := commanded(w, r, &n)
	if err != nil {
		return nil, err
	}
	return s.Control.AddMachine(r.Context(), who, n)
}

func (s *Server) setMachine(w http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	var sent struct {
		control.MachineChange
		Pool  any `json:"pool"`
		OS    any `json:"os"`
		Arch  any `json:"arch"`
		Slots any `json:"slots"`
	}
	who, err := commanded(w, r, &sent)
	if err != nil {
		return nil, err
	}
	if sent.Pool != nil || sent.OS != nil || sent.Arch != nil || sent.Slots != nil {
		return nil, wrong(http.StatusBadRequest, "remove the machine, and add it under another name", "pool, os, arch and slots of a machine never change")
	}
	return s.Control.SetMachine(r.Context(), who, events.MachineName(r.PathValue("name")), sent.MachineChange)
}

func (s *Server) removeMachine(w http.ResponseWriter, r *http.Request, p *params) (any, error) {
	who, err := commanded(w, r, &struct{}{})
	if err != nil {
		return nil, err
	}
	return s.Control.RemoveMachine(r.Context(), who, events.MachineName(r.PathValue("name")), p.text("reason"))
}
