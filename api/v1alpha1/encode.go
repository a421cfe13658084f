package v1alpha1

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// envelope is a profile as a file holds it: apiVersion first, and only those
// metadata that a person writes. Those that a cluster added (uid, resourceVersion,
// managed fields, times) would hinder applying the file again.
type envelope struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       any      `json:"spec"`
	Summary    any      `json:"summary,omitempty"`
}

type metadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Encode returns o as a YAML document. Equal profiles give equal bytes; fields
// are in the order of their types; numbers are rounded to SignificantDigits; a point
// of a curve is on one line. An invalid profile, or one too large to be read again,
// is an error.
func Encode(o Object) ([]byte, error) {
	if faults := o.Validate(); len(faults) > 0 {
		return nil, fmt.Errorf("%s %q is not valid: %w", KindOf(o), o.GetName(), joined(faults))
	}
	text, err := json.Marshal(seal(o))
	if err != nil {
		return nil, fmt.Errorf("encode %s %q: %w", KindOf(o), o.GetName(), err)
	}
	// JSON is YAML: only the layout differs.
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("encode %s %q: %w", KindOf(o), o.GetName(), err)
	}
	layOut(doc.Content[0], false)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(&doc), encoder.Close()); err != nil {
		return nil, fmt.Errorf("encode %s %q: %w", KindOf(o), o.GetName(), err)
	}
	if out.Len() > MaxDocumentBytes {
		return nil, fmt.Errorf("%s %q takes %d bytes: want at most %d; shorten its timeline", KindOf(o), o.GetName(), out.Len(), MaxDocumentBytes)
	}
	return out.Bytes(), nil
}

// EncodeAll returns the objects as YAML documents separated by "---" lines, as
// DecodeAll and kubectl read them. More than DecodeAll reads is an error.
func EncodeAll(objects ...Object) ([]byte, error) {
	if len(objects) > MaxDocuments {
		return nil, fmt.Errorf("%d profiles: want at most %d in one stream, so that they can be read again: write fewer at a time", len(objects), MaxDocuments)
	}
	documents := make([][]byte, 0, len(objects))
	for _, o := range objects {
		text, err := Encode(o)
		if err != nil {
			return nil, err
		}
		documents = append(documents, text)
	}
	stream := bytes.Join(documents, []byte("---\n"))
	if len(stream) > MaxStreamBytes {
		return nil, fmt.Errorf("%d profiles take %d bytes: want at most %d in one stream, so that they can be read again: write fewer at a time", len(objects), len(stream), MaxStreamBytes)
	}
	return stream, nil
}

func joined[E error](list []E) error {
	shown := make([]error, 0, len(list))
	for _, err := range list[:min(len(list), maxReported)] {
		shown = append(shown, err)
	}
	if len(list) > maxReported {
		shown = append(shown, fmt.Errorf("and %d more", len(list)-maxReported))
	}
	return errors.Join(shown...)
}

func seal(o Object) envelope {
	e := envelope{
		APIVersion: APIVersion,
		Kind:       KindOf(o),
		Metadata: metadata{
			Name:      o.GetName(),
			Namespace: o.GetNamespace(),
			Labels:    o.GetLabels(),
		},
	}
	for key, text := range o.GetAnnotations() {
		if key == lastApplied || key == objectAnnotation {
			continue
		}
		if e.Metadata.Annotations == nil {
			e.Metadata.Annotations = map[string]string{}
		}
		e.Metadata.Annotations[key] = text
	}
	switch o := o.(type) {
	case *ApplicationProfile:
		spec := o.Spec.rounded()
		e.Spec, e.Summary = spec, spec.Summarize()
	case *MachineProfile:
		spec := o.Spec.rounded()
		e.Spec, e.Summary = spec, spec.Summarize()
	}
	return e
}

// layOut chooses blocks over braces, quotes only where a reader needs them,
// and one line for each entry of a list that holds only plain values.
func layOut(n *yaml.Node, inList bool) {
	n.Style = 0
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!str" && !plain(n.Value) {
			n.Style = yaml.DoubleQuotedStyle
		}
	case yaml.MappingNode, yaml.SequenceNode:
		nested := slices.ContainsFunc(n.Content, func(child *yaml.Node) bool { return child.Kind != yaml.ScalarNode })
		if inList && !nested || len(n.Content) == 0 {
			n.Style = yaml.FlowStyle
		}
	}
	for _, child := range n.Content {
		layOut(child, n.Kind == yaml.SequenceNode)
	}
}

var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./@+-]*( [A-Za-z0-9_./@+-]+)*$`)

// plain reports whether every YAML parser reads s without quotes as text:
// YAML 1.1 takes some words for booleans.
func plain(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	return plainText.MatchString(s)
}
