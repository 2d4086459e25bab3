package sitetest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tachobench/tacho/events"
)

func jsonNumber(n events.Seq) string { return strconv.FormatUint(uint64(n), 10) }

// document is the part of an OpenAPI document that the tests need.
type document struct {
	Paths map[string]map[string]struct {
		Parameters  []struct{ Name, In string }
		RequestBody struct{ Content map[string]described }
		Responses   map[string]struct {
			Content map[string]described
			Headers map[string]struct{ Description string }
		}
	}
	Components struct{ Schemas map[string]*jsonschema.Schema }
}

type described struct{ Schema *jsonschema.Schema }

// readDocument reads the document with its JSON Schemas. A field that is not described is an error.
func readDocument(t *testing.T, text string) (d document) {
	t.Helper()
	if err := json.Unmarshal([]byte(strings.ReplaceAll(text, "#/components/schemas/", "#/$defs/")), &d); err != nil {
		t.Fatal(err)
	}
	for _, s := range d.Components.Schemas {
		if s.Properties != nil && s.AdditionalProperties == nil {
			s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
		}
	}
	return d
}

// check returns an error that says where a value does not match the schema.
func (d document) check(s *jsonschema.Schema, v any) error {
	root := &jsonschema.Schema{Defs: d.Components.Schemas, AllOf: []*jsonschema.Schema{s}}
	resolved, err := root.CloneSchemas().Resolve(nil)
	if err != nil {
		return err
	}
	return resolved.Validate(v)
}

func TestTheDescriptionOfTheAPIIsTrue(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	report := st.github()
	st.share()
	st.staff()
	st.tell(events.MachineDescribed{Machine: "amd-0", Pool: "builders", Slots: 1})
	st.asked(sha("7"), []string{"trait=nvme"}, []string{"trait=odd"})
	s.machines()
	_, body := s.get("/openapi.json")
	d := readDocument(t, body)
	graphed := st.master(sha("e"), "", 17)
	st.ends(st.graph(graphed)[0], events.Failure, "it has no linker")
	if _, err := s.now().Request(s.ctx, string(graphed)); err != nil { // the tables have all of it
		t.Fatal(err)
	}
	fill := strings.NewReplacer("{request}/graphs", string(graphed)+"/graphs", "{graph}", "0", "{request}", string(st.child), "{job}", string(st.work.ID), "{name}", "amd-0", "{seq}", "1", "{digest}", string(s.suite.Digest()), "{suite}", string(s.suite.Name),
		"{hook}", "7", "{id}", string(told), "{key}", string(report))
	queries := map[string]string{
		"/api/v1/compare": "?b=" + string(sha("b")), "/api/v1/definitions/diff": "?a=go&b=go", "/api/v1/results": "?tag=" + string(sha("a")), "/api/v1/durations": "?target=" + string(machine),
	}
	for path, methods := range d.Paths {
		if !strings.HasPrefix(path, "/api/v1/") {
			t.Errorf("%s is not of the API", path)
		}
		for method := range methods {
			if method == "get" {
				continue
			}
			// Without a token every existing write is refused as not permitted.
			if resp, _ := s.do(strings.ToUpper(method), fill.Replace(path), "", nil); resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s %s is described and answers %s", method, path, resp.Status)
			}
		}
		o, reads := methods["get"]
		if !reads || strings.HasSuffix(path, "/stream") || strings.HasSuffix(path, "/outputs/{name}") { // outputs have a test of their own
			continue
		}
		resp, body := s.get(fill.Replace(path) + queries[path])
		if resp.StatusCode != http.StatusOK {
			t.Errorf("GET %s is described and answers %s: %s", path, resp.Status, body)
			continue
		}
		answer, ok := o.Responses["200"].Content["application/json"]
		if !ok {
			continue
		}
		var v any
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatal(err)
		}
		if err := d.check(answer.Schema, v); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, p := range o.Parameters {
			if p.In != "query" {
				continue
			}
			// A described parameter is not refused as unknown.
			if resp, body := s.get(fill.Replace(path) + "?" + p.Name + "=1"); strings.Contains(body, "unknown parameter") {
				t.Errorf("GET %s with %s: %s", path, p.Name, resp.Status)
			}
		}
	}
	// The description accepts what the server accepts: fields may be left out.
	wish := map[string]any{"suite": "go", "kind": "master", "tag": "go1.50", "parameters": map[string]any{"profiles": []any{"debug"}}}
	if err := d.check(d.Paths["/api/v1/requests"]["post"].RequestBody.Content["application/json"].Schema, wish); err != nil {
		t.Errorf("a wish: %v", err)
	}
	for _, path := range []string{"/api/v1/status", "/api/v1/events", "/api/v1/events/stream", "/api/v1/compare"} {
		r := d.Paths[path]["get"].Responses["429"]
		if s := r.Content["application/json"].Schema; r.Headers["Retry-After"].Description == "" || s == nil || s.Ref == "" {
			t.Errorf("GET %s does not say that it may be refused for a while: %+v", path, r)
		}
	}
	if _, bounded := d.Paths["/api/v1/requests"]["post"].Responses["429"]; bounded {
		t.Error("commands have no bound")
	}
	for path, want := range map[string]bool{"/api/v1/requests": true, "/api/v1/replay/verify": false, "/api/v1/requests/batch": true, "/api/v1/accounts/{name}/token": true} {
		if _, described := d.Paths[path]["post"].Responses["201"]; described != want {
			t.Errorf("POST %s is described with 201: %v, want %v", path, described, want)
		}
	}
	if len(d.Paths) < 20 {
		t.Errorf("only %d paths are described", len(d.Paths))
	}
}
