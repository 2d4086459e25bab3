package website

import (
	"encoding"
	"encoding/json"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"
)

// schemas makes JSON Schemas from the Go types that are sent as JSON. Each struct is described once and referred to.
type schemas struct {
	named object
	// sent is set for what callers send: they may leave fields out, while answers have all fields.
	sent bool
}

// of returns the schema of the type of v.
func (s *schemas) of(v any) object { return s.schema(reflect.TypeOf(v)) }

func (s *schemas) schema(t reflect.Type) object {
	switch {
	case t.Kind() == reflect.Pointer:
		return object{"anyOf": []object{s.schema(t.Elem()), {"type": "null"}}}
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[json.RawMessage]():
		return object{} // any JSON
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Struct:
		return s.structure(t)
	case reflect.Slice, reflect.Array:
		return object{"type": "array", "items": s.schema(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.schema(t.Elem())}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer"}
	default:
		return object{} // an interface: any JSON
	}
}

func (s *schemas) structure(t reflect.Type) object {
	name := titled(path.Base(t.PkgPath()), t.Name())
	if s.sent {
		name += ".sent"
	}
	ref := object{"$ref": "#/components/schemas/" + name}
	if s.named[name] != nil {
		return ref
	}
	properties := object{}
	made := object{"type": "object", "properties": properties}
	s.named[name] = made // before the fields: a type may hold itself
	fields := map[string]reflect.StructField{}
	collect(t, fields)
	required := []string{}
	for _, name := range sortedKeys(fields) {
		properties[name] = s.schema(fields[name].Type)
		_, options, _ := strings.Cut(fields[name].Tag.Get("json"), ",")
		if !strings.Contains(options, "omitempty") {
			required = append(required, name)
		}
	}
	if !s.sent {
		made["required"] = required
	}
	return ref
}

// collect gathers the fields of a struct as encoding/json sees them: the fields of embedded structs count, and an
// outer field hides an inner one of the same name.
func collect(t reflect.Type, fields map[string]reflect.StructField) {
	var embedded []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			embedded = append(embedded, f.Type)
		case f.IsExported() && name != "-":
			if name == "" {
				name = f.Name
			}
			if _, hidden := fields[name]; !hidden {
				fields[name] = f
			}
		}
	}
	for _, t := range embedded {
		collect(t, fields)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
