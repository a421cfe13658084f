package schedplugin

import (
	"context"
	"fmt"
	"slices"
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

// gather is how long changes are collected before they are compiled: a folder of
// profiles arrives as a burst.
const gather = 100 * time.Millisecond

// restFactor bounds rebuilding to about a twentieth of a CPU while profiles keep
// coming, unless one would wait longer than mostRest.
const (
	restFactor = 20
	mostRest   = 3 * time.Second
)

// firstSync is how long New waits for the first list, so that pods that are pending
// then do not count as unknown.
const firstSync = 5 * time.Second

// profileWatch keeps the profiles of the cluster up to date. A failure (resources that
// are not installed or were removed, an API server that does not answer) leaves the
// last profiles in place and shows in the metrics.
type profileWatch struct {
	current   atomic.Pointer[profiles]
	metrics   *instruments
	informers map[string]cache.SharedIndexInformer
	dirty     chan struct{}
	changed   atomic.Bool             // whether an object did since current was made
	failed    map[string]*atomic.Bool // whether a list or watch ever failed
	down      atomic.Bool             // whether the last list or watch of applications failed
	onChange  func()                  // is called when predictions may be different
}

// newProfileWatch prepares a watch; run starts it.
func newProfileWatch(client dynamic.Interface, m *instruments, onChange func()) (*profileWatch, error) {
	w := &profileWatch{
		metrics: m, onChange: onChange, dirty: make(chan struct{}, 1),
		informers: map[string]cache.SharedIndexInformer{}, failed: map[string]*atomic.Bool{},
	}
	first := newProfiles(&advisor.Advisor{})
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

// profiles returns the present profiles.
func (w *profileWatch) profiles() *profiles { return w.current.Load() }

// run starts watching until ctx ends. It returns when the first lists came or failed,
// or after firstSync.
func (w *profileWatch) run(ctx context.Context) {
	for _, informer := range w.informers {
		go informer.RunWithContext(ctx)
	}
	if err := wait.PollUntilContextTimeout(ctx, firstSync/100, firstSync, true, func(context.Context) (bool, error) {
		return w.tried(), nil
	}); err != nil {
		klog.FromContext(ctx).Info("Profiles are not listed yet, pods count as unknown until they are", "waited", firstSync)
	}
	w.changed.Store(true)
	w.rebuild()
	go w.rebuildOnChange(ctx)
}

// tried reports whether the list of every resource came or failed.
func (w *profileWatch) tried() bool {
	for resource, informer := range w.informers {
		if !informer.HasSynced() && !w.failed[resource].Load() {
			return false
		}
	}
	return true
}

// lister lists and watches a resource and remembers whether that works.
func (w *profileWatch) lister(client dynamic.Interface, resource string) cache.ListerWatcher {
	api := client.Resource(v1alpha1.GroupVersion().WithResource(resource))
	failed := &atomic.Bool{}
	w.failed[resource] = failed
	note := func(err error) {
		if resource == applicationResource {
			w.down.Store(err != nil)
		}
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

// why returns the reason for which a profile is not known. Without any profiles, and
// without resource definitions, it is not the fault of the application.
func (w *profileWatch) why(p *profile) string {
	if w.down.Load() && p.Application == nil && w.profiles().advisor.Len() == 0 {
		return "the resource definitions of bandmate.dev are missing, or the scheduler may not read them"
	}
	return p.Reason
}

// typed converts an object of the API server to a profile. An object that does not fit
// the type becomes an invalid profile with nothing but its names.
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
		if p, ok := into.(*v1alpha1.ApplicationProfile); ok {
			p.Spec.Machine.Name, _, _ = unstructured.NestedString(u.Object, "spec", "machine", "name")
		}
	}
	into.SetManagedFields(nil)
	if p, ok := into.(*v1alpha1.ApplicationProfile); ok {
		gatherPoints(p)
	}
	return into
}

// gatherPoints moves the points of all curves, and the numbers that they refer to, next to
// each other. The garbage collector visits each object, and a decoder makes one of every
// number that may be absent.
func gatherPoints(p *v1alpha1.ApplicationProfile) {
	count := 0
	for i := range p.Spec.Curves {
		count += len(p.Spec.Curves[i].Points)
	}
	points, numbers := make([]v1alpha1.CurvePoint, 0, count), make([]float64, 0, 3*count)
	for i := range p.Spec.Curves {
		first := len(points)
		points = append(points, p.Spec.Curves[i].Points...)
		p.Spec.Curves[i].Points = slices.Clip(points[first:])
	}
	for i := range points {
		at := &points[i]
		for _, number := range []**float64{&at.AchievedBytesPerSecond, &at.TotalBytesPerSecond, &at.Spread} {
			if *number != nil {
				numbers = append(numbers, **number)
				*number = &numbers[len(numbers)-1]
			}
		}
	}
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
	default: // it was asked for already
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
		timer := time.NewTimer(max(gather, min(restFactor*lasted, mostRest)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		select {
		case <-w.dirty: // this rebuild sees that change as well
		default:
		}
		start := time.Now()
		different := w.rebuild()
		lasted = time.Since(start)
		if different {
			w.onChange()
		}
	}
}

// rebuild compiles the profiles that the informers hold. Where none changed, it only
// calibrates those that were looked up since. It reports whether predictions may be
// different now.
func (w *profileWatch) rebuild() bool {
	if !w.changed.Swap(false) {
		return w.current.Load().calibrate()
	}
	start := time.Now()
	applications := objects[*v1alpha1.ApplicationProfile](w.informers[applicationResource])
	machines := objects[*v1alpha1.MachineProfile](w.informers[machineResource])
	old := w.current.Load()
	next := old.next(old.advisor.Next(applications, machines))
	w.current.Store(next)
	w.metrics.rebuild.Observe(time.Since(start).Seconds())
	counts := next.advisor.Count()
	counts[advisor.Invalid] += len(next.advisor.Broken()) // those of machines
	logNew(old.advisor.Broken(), next.advisor.Broken())
	for _, state := range []advisor.State{advisor.Known, advisor.Invalid} {
		w.metrics.profiles.WithLabelValues(string(state)).Set(float64(counts[state]))
	}
	return true
}

// logNew logs the faults that are new.
func logNew(old, faults []error) {
	known := make(map[string]bool, len(old))
	for _, err := range old {
		known[err.Error()] = true
	}
	for _, err := range faults {
		if !known[err.Error()] {
			klog.Background().Info("Profile of a machine cannot be used in full", "err", err)
		}
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
