package schedplugin

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/schedplugin/view"
	"bandmate.dev/bandmate/service"
)

// pods is what the plugin remembers of pods between cycles. The handler of the
// scheduler's pod informer writes it.
type pods struct {
	limited  limitedPods
	rejected sync.Map // of UID to *v1.Pod, those that a limit keeps pending
	counted  sync.Map // of rejection, those of pending pods that were counted
	faulty   sync.Map // of UID to the annotations whose fault was reported
	told     sync.Map // of UID to the last note about what keeps the pod pending
	// synced reports whether the handler has seen the pods of the first list; nil means
	// that it has.
	synced func() bool
	// deleted is told of every pod that is deleted, and named of the application and
	// the demand of every new pod that names one; either may be nil.
	deleted func(types.UID)
	named   func(application string, d service.Demand)
}

// limitedPods are the UIDs of the pods of the cluster with a limit annotation.
type limitedPods struct {
	uids  sync.Map
	count atomic.Int64
}

func (l *limitedPods) add(uid types.UID) {
	if _, known := l.uids.LoadOrStore(uid, nil); !known {
		l.count.Add(1)
	}
}

func (l *limitedPods) remove(uid types.UID) {
	if _, known := l.uids.LoadAndDelete(uid); known {
		l.count.Add(-1)
	}
}

// anyLimit reports whether any pod has a limit, or may have one: before the first list
// of pods was seen. PreFilter adds the pods that the handler has yet to see.
func (p *pods) anyLimit() bool {
	return p.limited.count.Load() > 0 || p.synced != nil && !p.synced()
}

// rejection is a pending pod and whose limit keeps it from a node.
type rejection struct {
	uid  types.UID
	role string
}

// reject remembers a pod that a limit rejected on a node, and reports whether it is the
// first time for this role since the pod came.
func (p *pods) reject(pod *v1.Pod, role string) (first bool) {
	p.rejected.Store(pod.UID, pod)
	_, again := p.counted.LoadOrStore(rejection{pod.UID, role}, nil)
	return !again
}

// placed drops what is remembered of a pending pod.
func (p *pods) placed(uid types.UID) {
	p.rejected.Delete(uid)
	p.told.Delete(uid)
	for _, role := range []string{roleNewcomer, roleResident, roleUnverifiable} {
		p.counted.Delete(rejection{uid, role})
	}
}

// firstNote reports whether a pending pod was not told this last.
func (p *pods) firstNote(uid types.UID, note string) bool {
	last, told := p.told.Swap(uid, note)
	return !told || last != note
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
	var values []string
	for _, name := range append(limitAnnotations(), v1alpha1.NUMANodeAnnotation) {
		values = append(values, pod.Annotations[name])
	}
	text := strings.Join(values, "\x00")
	if len(text) > v1alpha1.MaxAnnotationBytes {
		text = text[:v1alpha1.MaxAnnotationBytes]
	}
	last, seen := p.faulty.Swap(pod.UID, text)
	return !seen || last != text
}

func (p *pods) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if pod, ok := o.(*v1.Pod); ok {
				p.add(pod)
			}
		},
		UpdateFunc: func(was, is any) {
			before, ok := was.(*v1.Pod)
			after, okToo := is.(*v1.Pod)
			if ok && okToo {
				p.update(before, after)
			}
		},
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			if pod, ok := o.(*v1.Pod); ok {
				p.forget(pod.UID)
			}
		},
	}
}

func (p *pods) add(pod *v1.Pod) {
	if hasLimit(pod) {
		p.limited.add(pod.UID)
	}
	if p.named != nil {
		// What cannot be read is told when the pod is scheduled.
		if r, _ := view.ReadPod(pod); r.Application != "" {
			p.named(r.Application, r.Demand)
		}
	}
}

// update follows a change of a pod. A pod that was deleted and created again while the
// informer did not watch arrives as a change, too.
func (p *pods) update(before, after *v1.Pod) {
	switch {
	case before.UID != after.UID:
		p.forget(before.UID)
		p.add(after)
	case hasLimit(after):
		p.limited.add(after.UID)
	default:
		p.limited.remove(after.UID)
	}
}

// forget drops everything that is remembered of a deleted pod.
func (p *pods) forget(uid types.UID) {
	p.limited.remove(uid)
	p.placed(uid)
	p.faulty.Delete(uid)
	if p.deleted != nil {
		p.deleted(uid)
	}
}

// remembered returns the UIDs of the pods of which anything is remembered.
func (p *pods) remembered() map[types.UID]bool {
	uids := map[types.UID]bool{}
	for _, of := range []*sync.Map{&p.limited.uids, &p.rejected, &p.faulty, &p.told} {
		for uid := range of.Range {
			uids[uid.(types.UID)] = true //nolint:errcheck,forcetypeassert // nothing else is stored
		}
	}
	for key := range p.counted.Range {
		uids[key.(rejection).uid] = true //nolint:errcheck,forcetypeassert // nothing else is stored
	}
	return uids
}

// limitAnnotations are those that limit what a pod tolerates.
func limitAnnotations() []string {
	return []string{v1alpha1.MaxSlowdownAnnotation, v1alpha1.LoadAnnotation, v1alpha1.MaxP99Annotation}
}

func hasLimit(pod *v1.Pod) bool {
	return slices.ContainsFunc(limitAnnotations(), func(name string) bool {
		_, limited := pod.Annotations[name]
		return limited
	})
}
