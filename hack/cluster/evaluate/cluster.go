package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/hack/cluster/controlplane"
)

const workers = 32

// each calls do for 0 to n−1 from several goroutines and returns the first error.
func each(n int, do func(i int) error) error {
	var wait sync.WaitGroup
	var first sync.Once
	var failed error
	for w := range workers {
		wait.Go(func() {
			for i := w; i < n; i += workers {
				if err := do(i); err != nil {
					first.Do(func() { failed = err })
					return
				}
			}
		})
	}
	wait.Wait()
	return failed
}

// apply puts profiles into the cluster.
func apply(ctx context.Context, c *controlplane.Cluster, profiles []*v1alpha1.ApplicationProfile) error {
	config, err := c.Config()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	api := client.Resource(v1alpha1.GroupVersion().WithResource("applicationprofiles"))
	return each(len(profiles), func(i int) error {
		if faults := profiles[i].Validate(); len(faults) > 0 {
			return faults.ToAggregate()
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(profiles[i])
		if err != nil {
			return err
		}
		_, err = api.Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
		return err
	})
}

// podOf makes a pod; node is empty for one to schedule.
func podOf(name, application, scheduler, node string, milliCPU int64) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault, Labels: map[string]string{}},
		Spec: v1.PodSpec{
			NodeName: node, SchedulerName: scheduler,
			Containers: []v1.Container{{Name: "c", Image: "none", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
				v1.ResourceCPU: *resource.NewMilliQuantity(milliCPU, resource.DecimalSI), v1.ResourceMemory: resource.MustParse("64Mi"),
			}}}},
		},
	}
	if application != "" {
		p.Labels[v1alpha1.ApplicationLabel] = application
	}
	return p
}

const patience = 5 * time.Minute

// place creates a pod and waits for its node.
func place(ctx context.Context, client kubernetes.Interface, p *v1.Pod) (string, error) {
	pods := client.CoreV1().Pods(p.Namespace)
	if _, err := pods.Create(ctx, p, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	for start := time.Now(); time.Since(start) < patience; time.Sleep(5 * time.Millisecond) {
		got, err := pods.Get(ctx, p.Name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		if got.Spec.NodeName != "" {
			return got.Spec.NodeName, nil
		}
	}
	return "", fmt.Errorf("pod %s is not placed after %v", p.Name, patience)
}

// removePods deletes all pods and waits until they are gone.
func removePods(ctx context.Context, client kubernetes.Interface) error {
	now := int64(0)
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	if err := pods.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	for {
		left, err := pods.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil || len(left.Items) == 0 {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}
