package schedplugin

import (
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// members is an index of the nodes that share memory domains. The handler of the node
// informer, which calls one at a time, writes it; scheduling cycles read it.
type members struct {
	byDomain sync.Map // of the domain's name to the names of its nodes
	// deleted is told of every node that is deleted, emptied of every domain whose
	// last node left it.
	deleted, emptied func(name string)
}

// of returns the names of a domain's nodes. The caller must not change them.
func (m *members) of(domain string) []string {
	value, _ := m.byDomain.Load(domain)
	names, _ := value.([]string)
	return names
}

// move moves a node from one domain to another; an empty name is none.
func (m *members) move(node, from, to string) {
	if from == to {
		return
	}
	if left := slices.DeleteFunc(slices.Clone(m.of(from)), func(name string) bool { return name == node }); len(left) > 0 {
		m.byDomain.Store(from, left)
	} else if from != "" {
		m.byDomain.Delete(from)
		m.emptied(from)
	}
	if to != "" {
		m.byDomain.Store(to, append(slices.Clone(m.of(to)), node))
	}
}

func (m *members) handler() cache.ResourceEventHandler {
	domain := func(o any) (node, domain string) {
		if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
			o = gone.Obj
		}
		if n, ok := o.(*v1.Node); ok {
			return n.Name, n.Labels[v1alpha1.MemoryDomainLabel]
		}
		return "", ""
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			node, to := domain(o)
			m.move(node, "", to)
		},
		UpdateFunc: func(was, is any) {
			_, from := domain(was)
			node, to := domain(is)
			m.move(node, from, to)
		},
		DeleteFunc: func(o any) {
			node, from := domain(o)
			m.move(node, from, "")
			m.deleted(node)
		},
	}
}
