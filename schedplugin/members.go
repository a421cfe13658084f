package schedplugin

import (
	"maps"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// members is an index of the nodes that share memory domains. Handlers of the
// node informer write it, one at a time; scheduling cycles read it without
// waiting.
type members struct {
	writing  sync.Mutex
	byDomain atomic.Pointer[map[string][]string] // names of nodes, sorted by arrival
	// gone is told of every node that is deleted.
	gone func(node string)
}

// of returns the names of a domain's nodes. The caller must not change them.
func (m *members) of(domain string) []string {
	if index := m.byDomain.Load(); index != nil {
		return (*index)[domain]
	}
	return nil
}

// move puts a node from one domain into another; an empty name is none.
func (m *members) move(node, from, to string) {
	if from == to {
		return
	}
	m.writing.Lock()
	defer m.writing.Unlock()
	old := m.byDomain.Load()
	size := 1
	if old != nil {
		size += len(*old)
	}
	next := make(map[string][]string, size)
	if old != nil {
		maps.Copy(next, *old)
	}
	if from != "" {
		var left []string
		for _, name := range next[from] {
			if name != node {
				left = append(left, name)
			}
		}
		if next[from] = left; len(left) == 0 {
			delete(next, from)
		}
	}
	if to != "" {
		next[to] = append(append([]string(nil), next[to]...), node)
	}
	m.byDomain.Store(&next)
}

func (m *members) handler() cache.ResourceEventHandler {
	domain := func(n *v1.Node) string { return n.Labels[v1alpha1.MemoryDomainLabel] }
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if n, ok := o.(*v1.Node); ok {
				m.move(n.Name, "", domain(n))
			}
		},
		UpdateFunc: func(was, is any) {
			before, ok := was.(*v1.Node)
			after, okToo := is.(*v1.Node)
			if ok && okToo {
				m.move(after.Name, domain(before), domain(after))
			}
		},
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			if n, ok := o.(*v1.Node); ok {
				m.move(n.Name, domain(n), "")
				m.gone(n.Name)
			}
		},
	}
}
