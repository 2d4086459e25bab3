package sitetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
)

func jsonNumber(n events.Seq) string { return strconv.FormatUint(uint64(n), 10) }

// document is what the tests need of an OpenAPI document.
type document struct {
	Paths map[string]map[string]struct {
		Parameters  []struct{ Name, In string }
		RequestBody struct {
			Content map[string]struct{ Schema schema }
		}
		Responses map[string]struct {
			Content map[string]struct{ Schema schema }
			Headers map[string]struct{ Description string }
		}
	}
	Components struct{ Schemas map[string]schema }
}

type schema struct {
	Ref                  string   `json:"$ref"`
	Type                 string   `json:"type"`
	AnyOf                []schema `json:"anyOf"`
	Items                *schema
	Properties           map[string]schema
	AdditionalProperties *schema
	Required             []string
}

// faults lists where a value is not what the schema says.
func (d document) faults(at string, s schema, v any) []string {
	if s.Ref != "" {
		return d.faults(at, d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")], v)
	}
	if s.AnyOf != nil {
		if v == nil {
			return nil
		}
		return d.faults(at, s.AnyOf[0], v)
	}
	kind := map[bool]string{true: "?"}[s.Type != ""]
	switch v := v.(type) {
	case string:
		kind = "string"
	case bool:
		kind = "boolean"
	case float64:
		if kind = s.Type; kind != "integer" {
			kind = "number"
		}
	case []any:
		kind = "array"
		if s.Items != nil {
			var all []string
			for i, item := range v {
				all = append(all, d.faults(fmt.Sprintf("%s[%d]", at, i), *s.Items, item)...)
			}
			return all
		}
	case map[string]any:
		kind = "object"
		if s.Type == kind {
			return d.object(at, s, v)
		}
	}
	if s.Type != "" && s.Type != kind {
		return []string{fmt.Sprintf("%s is %v and not a %s", at, v, s.Type)}
	}
	return nil
}

func (d document) object(at string, s schema, v map[string]any) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		p, known := s.Properties[name]
		switch {
		case known:
			all = append(all, d.faults(at+"."+name, p, v[name])...)
		case s.AdditionalProperties != nil:
			all = append(all, d.faults(at+"."+name, *s.AdditionalProperties, v[name])...)
		default:
			all = append(all, at+"."+name+" is not described")
		}
	}
	for _, name := range s.Required {
		if _, there := v[name]; !there {
			all = append(all, at+"."+name+" is missing")
		}
	}
	return all
}

func TestTheDescriptionOfTheAPIIsTrue(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	report := st.github()
	s.machines()
	var d document
	_, body := s.get("/openapi.json")
	if err := json.Unmarshal([]byte(body), &d); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("{request}", string(st.child), "{job}", string(st.work.ID), "{name}", "amd-0", "{seq}", "1", "{digest}", string(s.suite.Digest()),
		"{hook}", "7", "{id}", string(told), "{key}", string(report))
	queries := map[string]string{
		"/api/v1/compare": "?b=" + string(sha("b")), "/api/v1/results": "?tag=" + string(sha("a")), "/api/v1/durations": "?target=" + string(machine),
	}
	for path, methods := range d.Paths {
		if !strings.HasPrefix(path, "/api/v1/") {
			t.Errorf("%s is not of the API", path)
		}
		if _, writes := methods["post"]; writes {
			// Without a token every write that exists is refused for that.
			if resp, _ := s.do(http.MethodPost, fill.Replace(path), "", nil); resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("POST %s is described and answers %s", path, resp.Status)
			}
		}
		o, reads := methods["get"]
		if !reads || strings.HasSuffix(path, "/stream") {
			continue
		}
		resp, body := s.get(fill.Replace(path) + queries[path])
		if resp.StatusCode != http.StatusOK {
			t.Errorf("GET %s is described and answers %s: %s", path, resp.Status, body)
			continue
		}
		described, ok := o.Responses["200"].Content["application/json"]
		if !ok {
			continue
		}
		var v any
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatal(err)
		}
		for _, fault := range d.faults(path, described.Schema, v) {
			t.Error(fault)
		}
		for _, p := range o.Parameters {
			if p.In != "query" {
				continue
			}
			// A parameter that is described is known: it is not refused as unknown.
			if resp, body := s.get(fill.Replace(path) + "?" + p.Name + "=1"); strings.Contains(body, "unknown parameter") {
				t.Errorf("GET %s with %s: %s", path, p.Name, resp.Status)
			}
		}
	}
	// What is accepted is described as such: fields may be left out.
	wish := map[string]any{"suite": "go", "kind": "master", "tag": "go1.50", "parameters": map[string]any{"profiles": []any{"debug"}}}
	for _, fault := range d.faults("wish", d.Paths["/api/v1/requests"]["post"].RequestBody.Content["application/json"].Schema, wish) {
		t.Error(fault)
	}
	for _, path := range []string{"/api/v1/status", "/api/v1/events", "/api/v1/events/stream", "/api/v1/compare"} {
		r := d.Paths[path]["get"].Responses["429"]
		if r.Headers["Retry-After"].Description == "" || r.Content["application/json"].Schema.Ref == "" {
			t.Errorf("GET %s does not say that it may be refused for a while: %+v", path, r)
		}
	}
	if _, bounded := d.Paths["/api/v1/requests"]["post"].Responses["429"]; bounded {
		t.Error("commands have no bound")
	}
	for path, want := range map[string]bool{"/api/v1/requests": true, "/api/v1/replay/verify": false} {
		if _, described := d.Paths[path]["post"].Responses["201"]; described != want {
			t.Errorf("POST %s is described with 201: %v, want %v", path, described, want)
		}
	}
	if len(d.Paths) < 20 {
		t.Errorf("only %d paths are described", len(d.Paths))
	}
}
