package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/hack/cluster/controlplane"
	"bandmate.dev/bandmate/predictor/evaluation"
)

// residents is how many pods each node has before the first batch.
const residents = 30

// throughputConfig leaves to the scheduler how many nodes it looks at.
func throughputConfig(kubeconfig string) string {
	return strings.Replace(controlplane.DefaultSchedulerConfig(kubeconfig), "percentageOfNodesToScore: 100\n", "", 1)
}

// throughput places batches of pods by the scheduler without and with the plugin
// in turn, in one process, and prints pods a second.
func throughput(ctx context.Context, s settings, c *controlplane.Cluster, client kubernetes.Interface) error {
	start := time.Now()
	if err := populate(ctx, s, c, client); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d nodes, %d pods, %d profiles in %v\n", s.nodes, s.nodes*residents, s.profile, time.Since(start).Round(time.Second))
	for s.when != "" && ctx.Err() == nil {
		if _, err := os.Stat(s.when); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	bound, err := watchBound(ctx, client)
	if err != nil {
		return err
	}
	schedulers := []string{"default-scheduler", "bandmate-scheduler"}
	rates := map[string][]float64{}
	for round := range s.rounds + 1 {
		for _, scheduler := range schedulers {
			rate, err := batch(ctx, s, client, bound, scheduler, round)
			if err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "round %d: %s %.0f pods/s\n", round, scheduler, rate)
			if round > 0 { // the first warms up
				rates[scheduler] = append(rates[scheduler], rate)
			}
		}
		slices.Reverse(schedulers)
	}
	var ratios []float64
	for i := range s.rounds {
		ratios = append(ratios, rates["bandmate-scheduler"][i]/rates["default-scheduler"][i])
	}
	fmt.Fprintf(s.out, "| %d | %d | %.0f | %.0f | %.2f (%.2f–%.2f) |\n", s.nodes, s.rounds,
		median(rates["default-scheduler"]), median(rates["bandmate-scheduler"]), median(ratios), slices.Min(ratios), slices.Max(ratios))
	return nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// populate creates profiles, nodes and the pods on them.
func populate(ctx context.Context, s settings, c *controlplane.Cluster, client kubernetes.Interface) error {
	d, err := evaluation.Read(os.DirFS(filepath.Join(s.data, "ddr4x2")))
	if err != nil {
		return err
	}
	base := profilesOf(d, "app")
	profiles := make([]*v1alpha1.ApplicationProfile, s.profile)
	for i := range profiles {
		profiles[i] = base[i%len(base)].DeepCopy()
		profiles[i].Name = fmt.Sprintf("app-%d", i)
	}
	if err := apply(ctx, c, profiles); err != nil {
		return err
	}
	if err := each(s.nodes, func(i int) error {
		n := controlplane.Node{Name: nodeName(i), CPUs: 64, Pods: 250, Labels: map[string]string{v1alpha1.MachineLabel: "simulated"}}
		_, err := client.CoreV1().Nodes().Create(ctx, n.Object(), metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 1))
	choice := make([]int, s.nodes*residents)
	for i := range choice {
		choice[i] = random.IntN(s.profile)
	}
	return each(len(choice), func(i int) error {
		application := ""
		if i/s.nodes < s.labelled {
			application = fmt.Sprintf("app-%d", choice[i])
		}
		p := podOf(fmt.Sprintf("resident-%d", i), application, "default-scheduler", nodeName(i%s.nodes), 500)
		_, err := client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{})
		return err
	})
}

const batchLabel = "batch"

// watchBound counts the pods of batches that are on a node.
func watchBound(ctx context.Context, client kubernetes.Interface) (*atomic.Int64, error) {
	var bound atomic.Int64
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.LabelSelector = batchLabel
	}))
	informer := factory.Core().V1().Pods().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(was, is any) {
		before, ok := was.(*v1.Pod)
		after, okToo := is.(*v1.Pod)
		if ok && okToo && before.Spec.NodeName == "" && after.Spec.NodeName != "" {
			bound.Add(1)
		}
	}}); err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, ctx.Err()
	}
	return &bound, nil
}

// batch creates pods, waits until all are placed, and deletes them again.
func batch(ctx context.Context, s settings, client kubernetes.Interface, bound *atomic.Int64, scheduler string, round int) (float64, error) {
	random := rand.New(rand.NewPCG(uint64(round), 3))
	applications := make([]string, s.batch)
	for i := range applications {
		applications[i] = fmt.Sprintf("app-%d", random.IntN(s.profile))
	}
	bound.Store(0)
	start := time.Now()
	if err := each(s.batch, func(i int) error {
		p := podOf(fmt.Sprintf("b-%d", i), applications[i], scheduler, "", 100)
		p.Labels[batchLabel] = "x"
		_, err := client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{})
		return err
	}); err != nil {
		return 0, err
	}
	for int(bound.Load()) < s.batch {
		if time.Since(start) > patience {
			return 0, fmt.Errorf("%s placed %d of %d pods in %v", scheduler, bound.Load(), s.batch, patience)
		}
		time.Sleep(2 * time.Millisecond)
	}
	rate := float64(s.batch) / time.Since(start).Seconds()
	if err := removePods(ctx, client, batchLabel); err != nil {
		return 0, err
	}
	time.Sleep(500 * time.Millisecond) // the schedulers hear of it
	return rate, nil
}
