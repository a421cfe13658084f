package schedplugin

import (
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// pods is what the plugin remembers of pods between cycles. The handler of the
// scheduler's pod informer writes it.
type pods struct {
	limited  atomic.Int64 // pods of the cluster with a limit annotation
	rejected sync.Map     // of UID to *v1.Pod, those that a limit keeps pending
	faulty   sync.Map     // of UID to the annotations whose fault was reported
	// deleted is told of every pod that is deleted, and named of the application of
	// every new pod that names one; either may be nil.
	deleted func(types.UID)
	named   func(application string)
}

// anyLimit reports whether any pod has a limit. The informer sees a pod before it is
// scheduled, so that no resident with a limit is missed.
func (p *pods) anyLimit() bool { return p.limited.Load() > 0 }

// reject remembers a pod that a limit rejected on a node.
func (p *pods) reject(pod *v1.Pod) { p.rejected.Store(pod.UID, pod) }

// forget drops a pod that was placed or deleted.
func (p *pods) forget(uid types.UID) {
	p.rejected.Delete(uid)
	p.faulty.Delete(uid)
}

// takeRejected returns the pods that limits rejected, by UID, and forgets them. Those
// that are rejected again come back.
func (p *pods) takeRejected() map[string]*v1.Pod {
	taken := map[string]*v1.Pod{}
	p.rejected.Range(func(key, value any) bool {
		pod := value.(*v1.Pod) //nolint:errcheck,forcetypeassert // nothing else is stored
		taken[string(pod.UID)] = pod
		p.rejected.Delete(key)
		return true
	})
	return taken
}

// firstFault reports whether these annotations of a pod are seen for the first time.
func (p *pods) firstFault(pod *v1.Pod) bool {
	text := pod.Annotations[v1alpha1.MaxSlowdownAnnotation] + "\x00" + pod.Annotations[v1alpha1.NUMANodeAnnotation]
	if len(text) > v1alpha1.MaxAnnotationBytes {
		text = text[:v1alpha1.MaxAnnotationBytes]
	}
	last, seen := p.faulty.Swap(pod.UID, text)
	return !seen || last != text
}

func (p *pods) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			p.limited.Add(limits(o))
			if pod, ok := o.(*v1.Pod); ok && p.named != nil {
				if application := pod.Labels[v1alpha1.ApplicationLabel]; application != "" {
					p.named(application)
				}
			}
		},
		UpdateFunc: func(was, is any) {
			// In one step: a cycle that runs meanwhile must not see the count without
			// this pod.
			p.limited.Add(limits(is) - limits(was))
		},
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			p.limited.Add(-limits(o))
			if pod, ok := o.(*v1.Pod); ok {
				p.forget(pod.UID)
				if p.deleted != nil {
					p.deleted(pod.UID)
				}
			}
		},
	}
}

// limits returns how many limits an object has: 1 for a pod with a limit, else 0.
func limits(o any) int64 {
	if pod, ok := o.(*v1.Pod); ok {
		if _, limited := pod.Annotations[v1alpha1.MaxSlowdownAnnotation]; limited {
			return 1
		}
	}
	return 0
}
