package schedplugin

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/api/v1alpha1"
)

// Names of the custom resources.
const (
	applicationResource = "applicationprofiles"
	machineResource     = "machineprofiles"
)

// settle is how long changes are gathered before they are compiled: a folder of
// profiles arrives as a burst.
const settle = 100 * time.Millisecond

// restFactor bounds what rebuilding costs while profiles keep coming: to about a
// twentieth of a CPU, as long as none waits longer than mostRest for it.
const (
	restFactor = 20
	mostRest   = 3 * time.Second
)

// firstSync is how long the scheduler's start waits for the first list, so that
// pods that are pending then are not taken for unknown.
const firstSync = 5 * time.Second

// profileWatch keeps a snapshot of the cluster's profiles. Whatever goes wrong
// (resources that are not installed, or removed; an API server that is away)
// leaves the last known profiles in place and shows in the metrics.
type profileWatch struct {
	current   atomic.Pointer[snapshot]
	metrics   *instruments
	informers map[string]cache.SharedIndexInformer
	dirty     chan struct{}
	changed   atomic.Bool             // whether profiles did, since the snapshot was made
	failed    map[string]*atomic.Bool // whether a list or watch ever failed
	onChange  func()
}

// newProfileWatch prepares a watch; run starts it.
func newProfileWatch(client dynamic.Interface, m *instruments, onChange func()) (*profileWatch, error) {
	w := &profileWatch{
		metrics: m, onChange: onChange, dirty: make(chan struct{}, 1),
		informers: map[string]cache.SharedIndexInformer{}, failed: map[string]*atomic.Bool{},
	}
	first := newSnapshot(&advisor.Advisor{})
	first.onNew = w.touch
	w.current.Store(first)
	for resource, empty := range map[string]func() v1alpha1.Object{
		applicationResource: func() v1alpha1.Object { return &v1alpha1.ApplicationProfile{} },
		machineResource:     func() v1alpha1.Object { return &v1alpha1.MachineProfile{} },
	} {
		informer := cache.NewSharedIndexInformer(w.lister(client, resource), &unstructured.Unstructured{}, 0, cache.Indexers{})
		if err := informer.SetTransform(func(o any) (any, error) { return typed(o, empty()), nil }); err != nil {
			return nil, fmt.Errorf("watch of %s: %w", resource, err)
		}
		if _, err := informer.AddEventHandler(w.handler()); err != nil {
			return nil, fmt.Errorf("watch of %s: %w", resource, err)
		}
		if err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
			klog.FromContext(ctx).V(2).Info("Watch of profiles is down", "resource", resource, "err", err)
		}); err != nil {
			return nil, fmt.Errorf("watch of %s: %w", resource, err)
		}
		w.informers[resource] = informer
	}
	return w, nil
}

// snapshot returns the present profiles.
func (w *profileWatch) snapshot() *snapshot { return w.current.Load() }

// run watches until ctx ends. It returns after the first lists came or failed,
// or firstSync.
func (w *profileWatch) run(ctx context.Context) {
	for _, informer := range w.informers {
		go informer.RunWithContext(ctx)
	}
	if err := wait.PollUntilContextTimeout(ctx, firstSync/100, firstSync, true, func(context.Context) (bool, error) {
		return w.tried(), nil
	}); err != nil {
		klog.FromContext(ctx).Info("Profiles are not listed yet: pods count as unknown until they are", "waited", firstSync)
	}
	w.changed.Store(true)
	w.rebuild()
	go w.rebuildOnChange(ctx)
}

// tried reports whether every resource was listed, or could not be.
func (w *profileWatch) tried() bool {
	for resource, informer := range w.informers {
		if !informer.HasSynced() && !w.failed[resource].Load() {
			return false
		}
	}
	return true
}

// lister lists and watches a resource and notes whether that works.
func (w *profileWatch) lister(client dynamic.Interface, resource string) cache.ListerWatcher {
	api := client.Resource(v1alpha1.GroupVersion().WithResource(resource))
	failed := &atomic.Bool{}
	w.failed[resource] = failed
	note := func(err error) {
		if err != nil {
			failed.Store(true)
			w.metrics.synced.WithLabelValues(resource).Set(0)
			w.metrics.syncFailures.WithLabelValues(resource).Inc()
			return
		}
		w.metrics.synced.WithLabelValues(resource).Set(1)
	}
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := api.List(ctx, o)
			note(err)
			if err != nil {
				return nil, err
			}
			return list, nil
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			started, err := api.Watch(ctx, o)
			note(err)
			return started, err
		},
	}, client)
}

// typed turns what the API server sent into a profile. What does not fit the
// type becomes a profile that says nothing but its name, which is invalid.
func typed(o any, into v1alpha1.Object) any {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into); err != nil {
		into = stub(into)
		into.SetName(u.GetName())
		into.SetLabels(u.GetLabels())
		into.SetUID(u.GetUID())
		into.SetResourceVersion(u.GetResourceVersion())
	}
	into.SetManagedFields(nil)
	return into
}

// stub returns an empty profile of the kind of o.
func stub(o v1alpha1.Object) v1alpha1.Object {
	if v1alpha1.KindOf(o) == v1alpha1.KindMachineProfile {
		return &v1alpha1.MachineProfile{}
	}
	return &v1alpha1.ApplicationProfile{}
}

// touch asks for a rebuild.
func (w *profileWatch) touch() {
	select {
	case w.dirty <- struct{}{}:
	default: // one is due already
	}
}

func (w *profileWatch) handler() cache.ResourceEventHandler {
	changed := func() {
		w.changed.Store(true)
		w.touch()
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changed() },
		UpdateFunc: func(any, any) { changed() },
		DeleteFunc: func(any) { changed() },
	}
}

func (w *profileWatch) rebuildOnChange(ctx context.Context) {
	var lasted time.Duration
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.dirty:
		}
		timer := time.NewTimer(max(settle, min(restFactor*lasted, mostRest)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		select {
		case <-w.dirty: // came meanwhile, and is seen by this rebuild
		default:
		}
		start := time.Now()
		w.rebuild()
		lasted = time.Since(start)
		w.onChange()
	}
}

// rebuild makes a snapshot of what the informers hold. Where no profile changed, it
// only catches up with applications that were asked for since.
func (w *profileWatch) rebuild() {
	if !w.changed.Swap(false) {
		w.current.Load().catchUp()
		return
	}
	start := time.Now()
	applications := objects[*v1alpha1.ApplicationProfile](w.informers[applicationResource])
	machines := objects[*v1alpha1.MachineProfile](w.informers[machineResource])
	old := w.current.Load()
	next := old.next(old.roster.Next(applications, machines))
	w.current.Store(next)
	w.metrics.rebuild.Observe(time.Since(start).Seconds())
	counts := next.roster.Count()
	for _, state := range []advisor.State{advisor.Known, advisor.HalfKnown, advisor.Invalid} {
		w.metrics.profiles.WithLabelValues(string(state)).Set(float64(counts[state]))
	}
}

func objects[T any](informer cache.SharedIndexInformer) []T {
	stored := informer.GetStore().List()
	list := make([]T, 0, len(stored))
	for _, o := range stored {
		if p, ok := o.(T); ok {
			list = append(list, p)
		}
	}
	return list
}
