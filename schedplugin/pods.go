package schedplugin

import (
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// pods is what the plugin remembers of pods between cycles. It hears of them
// from the scheduler's own informer.
type pods struct {
	limited  atomic.Int64 // pods of the cluster with a limit annotation
	rejected sync.Map     // of UID to *v1.Pod: those that a limit keeps pending
	faulty   sync.Map     // of UID to the resource version whose fault was reported
	// gone is told of every pod that is deleted; may be nil.
	gone func(types.UID)
	// named is told of the application of every pod that comes and names one; may be
	// nil.
	named func(application string)
}

// anyLimit reports whether any pod has a limit. A pod is known here before it is
// scheduled, so that no resident with a limit is missed.
func (p *pods) anyLimit() bool { return p.limited.Load() > 0 }

// reject remembers a pod that a limit keeps away from a node.
func (p *pods) reject(pod *v1.Pod) { p.rejected.Store(pod.UID, pod) }

// forget drops a pod that was placed or is gone.
func (p *pods) forget(uid types.UID) {
	p.rejected.Delete(uid)
	p.faulty.Delete(uid)
}

// takeRejected returns the pods that limits kept away, by UID, and forgets them:
// those that are rejected again come back.
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

// firstFault reports whether this version of a pod's annotations is seen for the
// first time.
func (p *pods) firstFault(pod *v1.Pod) bool {
	text := pod.Annotations[v1alpha1.MaxSlowdownAnnotation] + "\x00" + pod.Annotations[v1alpha1.NUMANodeAnnotation]
	if len(text) > v1alpha1.MaxAnnotationBytes {
		text = text[:v1alpha1.MaxAnnotationBytes]
	}
	last, seen := p.faulty.Swap(pod.UID, text)
	return !seen || last != text
}

// handler keeps count.
func (p *pods) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			p.count(o, 1)
			if pod, ok := o.(*v1.Pod); ok && p.named != nil {
				if application := pod.Labels[v1alpha1.ApplicationLabel]; application != "" {
					p.named(application)
				}
			}
		},
		UpdateFunc: func(was, is any) {
			p.count(was, -1)
			p.count(is, 1)
		},
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			p.count(o, -1)
			if pod, ok := o.(*v1.Pod); ok {
				p.forget(pod.UID)
				if p.gone != nil {
					p.gone(pod.UID)
				}
			}
		},
	}
}

func (p *pods) count(o any, by int64) {
	pod, ok := o.(*v1.Pod)
	if !ok {
		return
	}
	if _, limited := pod.Annotations[v1alpha1.MaxSlowdownAnnotation]; limited {
		p.limited.Add(by)
	}
}
