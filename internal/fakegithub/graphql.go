package fakegithub

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// graphQL answers the queries that Tacho makes: to minimise a comment or show it again, and whether one is minimised.
// It reads a query by its words, not by its grammar: it takes arguments in place or in variables, and finds the
// operation by its name.
func graphQL(c *call) answer {
	var sent struct {
		Query     string                     `json:"query"`
		Variables map[string]json.RawMessage `json:"variables"`
	}
	if bad := c.read(&sent); bad != nil {
		return *bad
	}
	given := arguments(sent.Query, sent.Variables)
	switch {
	case strings.Contains(sent.Query, "unminimizeComment"):
		return c.minimize("unminimizeComment", "unminimizedComment", given, false)
	case strings.Contains(sent.Query, "minimizeComment"):
		return c.minimize("minimizeComment", "minimizedComment", given, true)
	case strings.Contains(sent.Query, "node("):
		comment := c.s.commentOfNode(given["id"])
		if comment == nil {
			return unresolved("node", given["id"])
		}
		shape := comment.minimizedShape()
		shape["id"], shape["body"], shape["__typename"] = comment.NodeID, comment.Body, "IssueComment"
		return ok(object{"data": object{"node": shape}})
	case strings.Contains(sent.Query, "viewer"):
		return ok(object{"data": object{"viewer": object{"login": c.actor.login(), "databaseId": c.actor.id()}}})
	}
	return ok(object{"errors": []object{{
		"type": "INVALID", "message": "A query attribute must be specified and must be a string.",
	}}})
}

var argument = regexp.MustCompile(`(\w+)\s*:\s*("(?:[^"\\]|\\.)*"|\$\w+|[A-Za-z_]\w*)`)

// arguments returns the arguments of a query: literals, variables, and the fields of variables that are objects.
func arguments(query string, variables map[string]json.RawMessage) map[string]string {
	given := map[string]string{}
	set := func(name string, value json.RawMessage) {
		var text string
		if json.Unmarshal(value, &text) == nil {
			given[name] = text
		}
	}
	for _, found := range argument.FindAllStringSubmatch(query, -1) {
		name, value := found[1], found[2]
		variable, isVariable := strings.CutPrefix(value, "$")
		var fields map[string]json.RawMessage
		switch {
		case isVariable && json.Unmarshal(variables[variable], &fields) == nil:
			for field, of := range fields {
				set(field, of)
			}
		case isVariable:
			set(name, variables[variable])
		case value[0] == '"':
			set(name, json.RawMessage(value))
		default:
			given[name] = value
		}
	}
	return given
}

// classifiers returns GitHub's reasons for minimising.
func classifiers() []string {
	return []string{"SPAM", "ABUSE", "OFF_TOPIC", "OUTDATED", "DUPLICATE", "RESOLVED", "LOW_QUALITY"}
}

func (c *call) minimize(operation, field string, given map[string]string, hide bool) answer {
	comment := c.s.commentOfNode(given["subjectId"])
	if comment == nil {
		return unresolved(operation, given["subjectId"])
	}
	if hide && !slices.Contains(classifiers(), given["classifier"]) {
		return ok(object{"errors": []object{{
			"path": []string{"mutation", operation, "input", "classifier"}, "extensions": object{"code": "argumentLiteralsIncompatible"},
			"message": "Argument 'classifier' on InputObject 'MinimizeCommentInput' has an invalid value (" + given["classifier"] + "). Expected type 'ReportedContentClassifiers!'.",
		}}})
	}
	comment.Minimized, comment.MinimizedReason = hide, ""
	if hide {
		comment.MinimizedReason = strings.ToLower(strings.ReplaceAll(given["classifier"], "_", "-"))
	}
	result := object{field: comment.minimizedShape()}
	if id := given["clientMutationId"]; id != "" {
		result["clientMutationId"] = id
	}
	return ok(object{"data": object{operation: result}})
}

func (c *Comment) minimizedShape() object {
	o := object{"isMinimized": c.Minimized, "minimizedReason": nil, "viewerCanMinimize": true}
	if c.Minimized {
		o["minimizedReason"] = c.MinimizedReason
	}
	return o
}

// unresolved returns GraphQL's answer, with 200, to an id that names nothing.
func unresolved(operation, id string) answer {
	return answer{status: http.StatusOK, body: object{
		"data": object{operation: nil},
		"errors": []object{{
			"type": "NOT_FOUND", "path": []string{operation}, "locations": []object{{"line": 1, "column": 1}},
			"message": "Could not resolve to a node with the global id of '" + id + "'.",
		}},
	}}
}

// commentOfNode returns a comment by its node id. The caller holds mu.
func (s *Server) commentOfNode(id string) *Comment {
	for _, r := range s.repositories {
		for _, i := range r.issues {
			for _, c := range i.comments {
				if c.NodeID == id {
					return c
				}
			}
		}
	}
	return nil
}
