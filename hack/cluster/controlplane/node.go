package controlplane

import (
	"context"
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Node is a simulated node; the zero values of CPUs and Pods mean 32 and 110.
type Node struct {
	Name                string
	Labels, Annotations map[string]string
	CPUs, Pods          int
}

// Object returns the node as an API object: ready, without pods.
func (n Node) Object() *v1.Node {
	count := func(n, otherwise int) resource.Quantity {
		if n == 0 {
			n = otherwise
		}
		return *resource.NewQuantity(int64(n), resource.DecimalSI)
	}
	labels := map[string]string{v1.LabelHostname: n.Name, "type": "kwok"}
	maps.Copy(labels, n.Labels)
	capacity := v1.ResourceList{
		v1.ResourceCPU: count(n.CPUs, 32), v1.ResourcePods: count(n.Pods, 110), v1.ResourceMemory: resource.MustParse("256Gi"),
	}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: labels, Annotations: n.Annotations},
		Status: v1.NodeStatus{
			Capacity: capacity, Allocatable: capacity,
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "Simulated"}},
		},
	}
}

// AddNode creates a node.
func (c *Cluster) AddNode(ctx context.Context, n Node) error {
	config, err := c.Config()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, err := client.CoreV1().Nodes().Create(ctx, n.Object(), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("cluster: node %s: %w", n.Name, err)
	}
	return nil
}
