package website

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/tachobench/tacho/website/client"
)

// object is a JSON object of the OpenAPI document.
type object = map[string]any

// openAPI serves the description of the API, which is made once from the table of routes.
func (s *Server) openAPI(table []route) http.Handler {
	document := describe(table, s.Version)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.write(w, r, http.StatusOK, document) })
}

// describe returns the OpenAPI 3.1 document of a table of routes.
func describe(table []route, version string) object {
	schemas := &schemas{named: object{}}
	paths := object{}
	for _, rt := range table {
		path := apiPrefix + rt.path
		item, _ := paths[path].(object)
		if item == nil {
			item = object{}
			paths[path] = item
		}
		item[strings.ToLower(rt.method)] = operation(rt, schemas)
	}
	schemas.of(client.Error{})
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Tacho", "version": version,
			"description": "Times are RFC 3339 in UTC, durations end in _ms. Errors say what is wrong and what to do next.",
		},
		"paths": paths,
		"components": object{
			"schemas":         schemas.named,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
		},
	}
}

func operation(rt route, answered *schemas) object {
	o := object{"summary": rt.summary, "operationId": operationID(rt)}
	var parameters []object
	for _, name := range pathParameters(rt.path) {
		parameters = append(parameters, object{"name": name, "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, p := range rt.known() {
		kind := "string"
		if p.number {
			kind = "integer"
		}
		parameters = append(parameters, object{"name": p.name, "in": "query", "description": p.about, "schema": object{"type": kind}})
	}
	if parameters != nil {
		o["parameters"] = parameters
	}
	content := object{}
	if rt.answer != nil {
		content["application/json"] = object{"schema": answered.of(rt.answer)}
	}
	for _, kind := range rt.other {
		content[kind] = object{"schema": object{"type": "string"}}
	}
	no := object{"description": "An error", "content": object{"application/json": object{"schema": answered.of(client.Error{})}}}
	responses := object{"200": object{"description": "The answer", "content": content}, "default": no}
	if rt.writes() {
		o["security"] = []object{{"token": []string{}}}
		responses["507"] = object{"description": "The log has no room for it: make some, then ask again", "content": no["content"]}
	}
	if rt.effort != unbounded {
		busy := object{"schema": object{"type": "integer"}, "description": "How many seconds to wait before trying again"}
		for status, about := range map[string]string{
			"429": "Your address has too much under way, or, for a stream, all readers together have",
			"503": "Too many read at this moment, or something that is needed is away",
		} {
			responses[status] = object{"description": about, "content": no["content"], "headers": object{"Retry-After": busy}}
		}
	}
	if statusOf(rt, rt.answer) == http.StatusCreated {
		responses["201"] = object{"description": "Something new was recorded", "content": content}
	}
	if rt.body != nil {
		sent := &schemas{named: answered.named, sent: true}
		o["requestBody"] = object{"content": object{"application/json": object{"schema": sent.of(rt.body)}}}
	}
	o["responses"] = responses
	return o
}

// operationID returns a unique name for a route, such as "get_requests_request".
func operationID(rt route) string {
	return strings.ToLower(rt.method) + "_" + strings.NewReplacer("/", "_", "{", "", "}", "", "-", "_").Replace(rt.path)
}

// pathParameters returns the names in braces.
func pathParameters(path string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
		names = append(names, m[1])
	}
	return names
}

// titled returns the name of a schema. The package is part of it where types of two packages have the same name.
func titled(pkg, name string) string {
	if pkg == "suite" || pkg == "compare" {
		return fmt.Sprintf("%s.%s", pkg, name)
	}
	return name
}
