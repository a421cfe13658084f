package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// validator checks values against the part of JSON Schema that OpenAPI uses here.
type validator struct{ schemas map[string]any }

func (v validator) check(schema map[string]any, value any, at string) (faults []string) {
	wrong := func(format string, args ...any) { faults = append(faults, at+": "+fmt.Sprintf(format, args...)) }
	if ref, ok := schema["$ref"].(string); ok {
		return v.check(v.schemas[strings.TrimPrefix(ref, "#/components/schemas/")].(map[string]any), value, at)
	}
	kinds, _ := schema["type"].([]any)
	if kind, ok := schema["type"].(string); ok {
		kinds = []any{kind}
	}
	kind := kindOf(value)
	if !slices.Contains(kinds, any(kind)) && !(kind == "integer" && slices.Contains(kinds, any("number"))) {
		wrong("is a %s, want %v", kind, kinds)
		return faults
	}
	if values, ok := schema["enum"].([]any); ok && !slices.Contains(values, value) {
		wrong("is %v, want one of %v", value, values)
	}
	switch value := value.(type) {
	case []any:
		if most, ok := schema["maxItems"].(float64); ok && len(value) > int(most) {
			wrong("has %d members", len(value))
		}
		for i, one := range value {
			faults = append(faults, v.check(schema["items"].(map[string]any), one, fmt.Sprintf("%s[%d]", at, i))...)
		}
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for _, key := range required {
			if _, ok := value[key.(string)]; !ok {
				wrong("lacks %s", key)
			}
		}
		for key, one := range value {
			property, ok := properties[key].(map[string]any)
			if !ok {
				property, ok = schema["additionalProperties"].(map[string]any)
			}
			if !ok {
				wrong("has %s, which is not described", key)
				continue
			}
			faults = append(faults, v.check(property, one, at+"."+key)...)
		}
	}
	return faults
}

func kindOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if value == float64(int64(value)) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}

// What is sent is what OpenAPI describes, errors included.
func TestAnswersAreAsDescribed(t *testing.T) {
	var document struct {
		Paths map[string]struct {
			Get struct {
				Responses map[string]struct {
					Content map[string]struct{ Schema map[string]any }
				}
			}
		}
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(openAPI, &document); err != nil {
		t.Fatal(err)
	}
	if len(document.Paths) != len(paths) {
		t.Errorf("%d paths are described, %d are served", len(document.Paths), len(paths))
	}
	v := validator{document.Components.Schemas}
	h := newTestHandler(t, newFake())
	for _, target := range []string{
		"/healthz", "/api/v1/predict?target=triad&corunner=triad&explain=true", "/api/v1/predict?target=nobody&corunner=triad", "/api/v1/predict?x=1",
		"/api/v1/predict?target=web&corunner=web&load=300&load=web=300&maxP99=9ms", "/api/v1/predict?target=web&corunner=xz&load=990",
		"/api/v1/matrix", "/api/v1/matrix?offset=9", "/api/v1/applications", "/api/v1/machines",
	} {
		path, _, _ := strings.Cut(target, "?")
		answer := get(t, h, target)
		response, ok := document.Paths[path].Get.Responses[fmt.Sprint(answer.StatusCode)]
		if !ok {
			response = document.Paths[path].Get.Responses["default"]
		}
		var value any
		if err := json.Unmarshal([]byte(bodyOf(t, answer)), &value); err != nil {
			t.Fatal(err)
		}
		for _, fault := range v.check(response.Content["application/json"].Schema, value, target) {
			t.Error(fault)
		}
	}
	// The check can fail.
	if len(v.check(map[string]any{"$ref": "#/components/schemas/Health"}, map[string]any{"status": 1.0, "more": nil}, "made")) != 3 {
		t.Error("the check finds nothing wrong with what is")
	}
}
