package server

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/curves"
	"bandmate.dev/bandmate/internal/golden"
	"bandmate.dev/bandmate/predictor"
)

// object is an object of JSON, printed with its keys in order.
type object = map[string]any

// openapi.json is made from the types that are sent.
func TestOpenAPI(t *testing.T) {
	got, err := makeOpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	golden.Want(t, "openapi.json", got)
}

// makeOpenAPI returns the description of the API, OpenAPI 3.1 in JSON. It fails
// where a field lacks a description.
func makeOpenAPI() ([]byte, error) {
	s := &schemas{done: object{}}
	document := object{
		"openapi": "3.1.1",
		"info": object{
			"title":       "Bandmate",
			"version":     "v1",
			"summary":     "How much will two jobs slow each other down through memory bandwidth?",
			"description": "The API of `bandmate serve`. It reads the profiles as they are at the moment of the request and changes nothing. Rates are in bytes per second at the memory controller, read shares from 0 to 1, slowdowns are co-run time ÷ solo time. Every answer has an ETag.",
			"license":     object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers": []any{object{"url": "/"}},
		"paths": object{
			"/healthz":             s.path("Whether the server runs", "health", reflect.TypeFor[health]()),
			"/api/v1/predict":      s.path("How a target and its co-runners slow each other down, as `bandmate predict -o json` says", "predict", reflect.TypeFor[advisor.ServicePrediction](), predictParameters()...),
			"/api/v1/matrix":       s.path("The slowdown of every pair, as `bandmate matrix -o json` says, part by part", "matrix", reflect.TypeFor[Matrix](), matrixParameters()...),
			"/api/v1/applications": s.path("The applications that have a profile", "applications", reflect.TypeFor[applicationList](), applicationsParameters()...),
			"/api/v1/machines":     s.path("The machines that have a profile", "machines", reflect.TypeFor[machineList]()),
			"/api/v1/openapi.json": object{"get": object{
				"operationId": "openapi", "summary": "This document",
				"responses": object{"200": object{"description": "OpenAPI 3.1", "content": object{"application/json": object{"schema": object{"type": "object"}}}}},
			}},
		},
		"components": object{"schemas": s.done},
	}
	s.add(reflect.TypeFor[refusal]())
	if len(s.faults) > 0 {
		return nil, fmt.Errorf("openapi: no description of %s: write one in describe_test.go", strings.Join(s.faults, ", "))
	}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	return append(text, '\n'), nil
}

// parameter describes one of a query.
func parameter(name, description string, required bool, schema object) any {
	p := object{"name": name, "in": "query", "description": description, "schema": schema}
	if required {
		p["required"] = true
	}
	return p
}

func textSchema() object {
	return object{"type": "string", "minLength": 1, "maxLength": longestText}
}

func numberSchema(usual, low, high int) object {
	return object{"type": "integer", "minimum": low, "maximum": high, "default": usual}
}

func listSchema(least, most int) object {
	return object{"type": "array", "items": textSchema(), "minItems": least, "maxItems": most}
}

func methodParameter() any {
	var names []any
	for _, m := range predictor.Methods() {
		names = append(names, string(m))
	}
	return parameter("method", "How to predict.", false, object{"type": "string", "enum": names, "default": string(predictor.Default)})
}

func predictParameters() []any {
	return []any{
		parameter("target", "The application that is asked about.", true, textSchema()),
		parameter("corunner", "A neighbor; given once for each. An application may stand beside itself.", true, listSchema(1, mostCorunners)),
		parameter("machine", "For which machine; what was measured elsewhere is transferred to it. Not needed where all have profiles of one machine only.", false, textSchema()),
		methodParameter(),
		parameter("load", "Requests per second of the target, a service, as `20000`, or of a neighbor, as `NAME=20000`; given once for each, which stands for all instances of that name, 16 at most.", false, listSchema(0, mostDemands)),
		parameter("maxP99", "The highest p99 that the target may have, as `2ms`, or a neighbor, as `NAME=2ms`; needs its load.", false, listSchema(0, mostDemands)),
		parameter("explain", "Whether to say how the numbers came about.", false, object{"type": "boolean", "default": false}),
	}
}

func matrixParameters() []any {
	return []any{
		parameter("application", "One of the applications of the matrix; given once for each. Without any: all.", false, listSchema(0, mostApplications)),
		parameter("machine", "Only what was measured there; named applications are transferred to it.", false, textSchema()),
		methodParameter(),
		parameter("offset", "The first target.", false, numberSchema(0, 0, highestOffset)),
		parameter("limit", "How many targets.", false, numberSchema(usualCells, 1, mostCells)),
		parameter("corunnerOffset", "The first co-runner.", false, numberSchema(0, 0, highestOffset)),
		parameter("corunnerLimit", "How many co-runners.", false, numberSchema(usualCells, 1, mostCells)),
	}
}

func applicationsParameters() []any {
	return []any{
		parameter("search", "A part of the name, in upper or lower case.", false, textSchema()),
		parameter("machine", "Only those measured there.", false, textSchema()),
		parameter("offset", "The first one.", false, numberSchema(0, 0, highestOffset)),
		parameter("limit", "How many.", false, numberSchema(usualLimit, 1, mostListed)),
	}
}

// schemas collects the types that are sent.
type schemas struct {
	done   object
	faults []string // fields without a description
}

func (s *schemas) path(summary, id string, answer reflect.Type, parameters ...any) object {
	get := object{
		"operationId": id, "summary": summary,
		"responses": object{
			"200":     object{"description": "The answer", "headers": object{"ETag": object{"schema": object{"type": "string"}}}, "content": object{"application/json": object{"schema": s.add(answer)}}},
			"304":     object{"description": "What If-None-Match names is still right"},
			"default": object{"description": "400: wrong parameters; 404: no such profile; 421: another host was meant; 422: the profiles do not allow it; 503: too much at a time, too long to compute, or the profiles cannot be read", "content": object{"application/json": object{"schema": object{"$ref": reference("Refusal")}}}},
		},
	}
	if len(parameters) > 0 {
		get["parameters"] = parameters
	}
	return object{"get": get}
}

func reference(name string) string { return "#/components/schemas/" + name }

// nameOf is what a type is called in the description.
func nameOf(t reflect.Type) string {
	return strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
}

// add describes a type and returns its schema, or a reference to it.
func (s *schemas) add(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Pointer:
		return s.add(t.Elem())
	case reflect.Struct:
		return s.addStruct(t)
	case reflect.Slice:
		return object{"type": "array", "items": s.add(t.Elem())}
	case reflect.Array:
		return object{"type": "array", "items": s.add(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.add(t.Elem())}
	case reflect.String:
		return withValues(object{"type": "string"}, t)
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	default:
		s.faults = append(s.faults, "the type "+t.String())
		return object{}
	}
}

// withValues adds the values of a type that has few.
func withValues(schema object, t reflect.Type) object {
	var values []any
	switch t {
	case reflect.TypeFor[predictor.Method]():
		for _, m := range predictor.Methods() {
			values = append(values, string(m))
		}
	case reflect.TypeFor[curves.Kind]():
		for _, k := range curves.Kinds() {
			values = append(values, string(k))
		}
	default:
		return schema
	}
	schema["enum"] = values
	return schema
}

func (s *schemas) addStruct(t reflect.Type) object {
	name := nameOf(t)
	ref := object{"$ref": reference(name)}
	if _, ok := s.done[name]; ok {
		return ref
	}
	properties, required := object{}, []string{}
	schema := object{"type": "object", "properties": properties, "additionalProperties": false}
	s.done[name] = schema
	for _, field := range reflect.VisibleFields(t) {
		if field.Anonymous {
			continue // its fields follow
		}
		name := name
		if len(field.Index) > 1 {
			name = nameOf(t.FieldByIndex(field.Index[:1]).Type)
		}
		key, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if key == "-" || !field.IsExported() {
			continue
		}
		description, ok := descriptions[name+"."+key]
		if !ok {
			s.faults = append(s.faults, name+"."+key)
		}
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		property := s.add(field.Type)
		if absent := elementOf(field.Type); absent.Kind() == reflect.Pointer && !optional {
			property = orNull(property)
		}
		property["description"] = description
		properties[key] = property
		if !optional {
			required = append(required, key)
		}
	}
	slices.Sort(required)
	if len(required) > 0 {
		schema["required"] = required
	}
	return ref
}

// elementOf is what lists of lists are of.
func elementOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// orNull lets the innermost value be null: a pointer that is always written.
func orNull(schema object) object {
	if items, ok := schema["items"].(object); ok {
		schema["items"] = orNull(items)
		return schema
	}
	if kind, ok := schema["type"].(string); ok {
		schema["type"] = []any{kind, "null"}
	}
	return schema
}
