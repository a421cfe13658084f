package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"bandmate.dev/bandmate/hack/cluster/results"
)

// batches is the namespace of the pods to place, apart from the residents' so
// that listing and removing them is quick.
const batches = "batches"

// placements counts pods of batches that came onto a node and that went.
type placements struct{ bound, gone atomic.Int64 }

func watchPlaced(ctx context.Context, client kubernetes.Interface) (*placements, error) {
	p := &placements{}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(batches))
	informer := factory.Core().V1().Pods().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(was, is any) {
			before, ok := was.(*v1.Pod)
			after, okToo := is.(*v1.Pod)
			if ok && okToo && before.Spec.NodeName == "" && after.Spec.NodeName != "" {
				p.bound.Add(1)
			}
		},
		DeleteFunc: func(any) { p.gone.Add(1) },
	}); err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, ctx.Err()
	}
	return p, nil
}

// batch creates pods, waits until all are placed, measures that, and removes
// them. What the pods ask for depends on the round alone.
func (b *bench) batch(ctx context.Context, scheduler string, round int) (m results.Batch, err error) {
	random := rand.New(rand.NewPCG(uint64(round), 3))
	applications := make([]string, b.settings.batch)
	for i := range applications {
		applications[i] = fmt.Sprintf("app-%d", random.IntN(b.profile))
	}
	b.placed.bound.Store(0)
	b.placed.gone.Store(0)
	for _, s := range schedulers {
		if _, err := b.collectGarbage(ctx, s); err != nil {
			return m, err
		}
	}
	before, err := now(b.cluster)
	if err != nil {
		return m, err
	}
	start := time.Now()
	if err := each(len(applications), func(i int) error {
		p := podOf(fmt.Sprintf("b-%d", i), applications[i], scheduler, "", 100)
		p.Namespace = batches
		_, err := b.client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{})
		return err
	}); err != nil {
		return m, err
	}
	if err := arrived(ctx, &b.placed.bound, len(applications)); err != nil {
		return m, fmt.Errorf("pods placed by %s: %w", scheduler, err)
	}
	seconds := time.Since(start).Seconds()
	after, err := now(b.cluster)
	if err != nil {
		return m, err
	}
	part, err := b.garbageDue(ctx, scheduler)
	if err != nil {
		return m, err
	}
	collection, err := b.collectGarbage(ctx, scheduler)
	if err != nil {
		return m, err
	}
	used, pods, due := after.since(before), float64(len(applications)), part*collection
	m = results.Batch{
		PodsPerSecond: pods / seconds, SecondsPerPod: (used.ours + due) / pods,
		SchedulerSecondsPerPod: (used.scheduler[scheduler] + due) / pods, GarbageSecondsPerPod: due / pods,
		Foreign: max(used.busy-used.ours, 0) / used.capacity, Steal: used.steal / used.capacity,
	}
	return m, b.remove(ctx, len(applications))
}

// remove deletes the pods of a batch and gives the scheduler a moment to hear.
func (b *bench) remove(ctx context.Context, count int) error {
	now := int64(0)
	pods := b.client.CoreV1().Pods(batches)
	err := pods.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
	for apierrors.IsTimeout(err) { // the API server gives up after a minute, with part of them gone
		err = pods.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
	}
	if err != nil {
		return err
	}
	if err := arrived(ctx, &b.placed.gone, count); err != nil {
		return fmt.Errorf("pods removed: %w", err)
	}
	time.Sleep(500 * time.Millisecond)
	return nil
}

// arrived waits until a count is reached.
func arrived(ctx context.Context, count *atomic.Int64, want int) error {
	for start := time.Now(); int(count.Load()) < want; time.Sleep(2 * time.Millisecond) {
		if ctx.Err() != nil || time.Since(start) > patience {
			return errors.Join(fmt.Errorf("%d of %d in %v", count.Load(), want, time.Since(start).Round(time.Second)), ctx.Err())
		}
	}
	return nil
}
