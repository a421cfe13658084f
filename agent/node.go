package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/topology"
)

// Node is the agent's own node in a cluster.
type Node struct {
	client dynamic.ResourceInterface
	name   string
}

// NewNode returns the node of a name.
func NewNode(client dynamic.Interface, name string) *Node {
	return &Node{client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}), name}
}

// Metadata is a change of a node's labels and annotations; nil removes an entry.
type Metadata struct {
	Labels      map[string]*string `json:"labels,omitempty"`
	Annotations map[string]*string `json:"annotations,omitempty"`
}

// Read returns the labels and annotations of the node.
func (n *Node) Read(ctx context.Context) (labels, annotations map[string]string, err error) {
	o, err := n.client.Get(ctx, n.name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, n.explain("read", err)
	}
	return o.GetLabels(), o.GetAnnotations(), nil
}

// Change sets and removes labels and annotations and leaves all others as they
// are.
func (n *Node) Change(ctx context.Context, m Metadata) error {
	if len(m.Labels)+len(m.Annotations) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": m})
	if err != nil {
		return fmt.Errorf("node %s: %w", n.name, err)
	}
	var changed *unstructured.Unstructured
	changed, err = n.client.Patch(ctx, n.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "bandmate-agent"})
	if err != nil || changed == nil {
		return n.explain("change", err)
	}
	return nil
}

func (n *Node) explain(verb string, err error) error {
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s node %s: %w: the agent's cluster role must allow get and patch of nodes, and its service account token must be of a pod on this node", verb, n.name, err)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s node %s: %w: name the node with --node or NODE_NAME", verb, n.name, err)
	}
	return fmt.Errorf("%s node %s: %w", verb, n.name, err)
}

// Recognize returns the name of the profile whose machine has the same processor and as
// many sockets, NUMA nodes and CPUs as m. If several match, it is the first of
// preferred among them, or else the oldest, and why says so. If none matches, name is
// empty and why gives the reason and a remedy. Profiles whose names no node can be labeled
// with are left out.
func Recognize(m *topology.Machine, profiles []*v1alpha1.MachineProfile, preferred ...string) (name, why string) {
	var alike []*v1alpha1.MachineProfile
	leftOut := ""
	for _, p := range profiles {
		if p.Spec.CPUModel != m.CPUModel || p.Spec.Sockets != m.Sockets() ||
			p.Spec.NUMANodes != len(m.Nodes) || p.Spec.CPUs != len(m.CPUs) {
			continue
		}
		if faults := validation.IsValidLabelValue(p.Name); len(faults) > 0 {
			leftOut = fmt.Sprintf("the machine profile %s is of such a machine, but no node can be labeled with its name: %s: measure it again with bandmate machine --name NAME and apply it", p.Name, faults[0])
			continue
		}
		alike = append(alike, p)
	}
	switch len(alike) {
	case 1:
		return alike[0].Name, leftOut
	case 0:
		if leftOut != "" {
			return "", leftOut
		}
		return "", fmt.Sprintf("no machine profile of the cluster is of %s with %d sockets, %d NUMA nodes and %d CPUs: measure one with bandmate machine and apply it, or name the machine with --machine",
			m.CPUModel, m.Sockets(), len(m.Nodes), len(m.CPUs))
	}
	slices.SortFunc(alike, func(a, b *v1alpha1.MachineProfile) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	names := make([]string, len(alike))
	for i, p := range alike {
		names[i] = p.Name
	}
	for _, p := range preferred {
		if slices.Contains(names, p) {
			return p, ""
		}
	}
	return names[0], fmt.Sprintf("the machine profiles %s are all of such a machine: %s is used because it is the oldest; choose one with --machine, or keep one and delete the others",
		strings.Join(names, ", "), names[0])
}
