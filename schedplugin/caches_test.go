package schedplugin

import (
	"os"
	"testing"

	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/predictor/score/scoretest"
)

// A pod goes where it cannot come to share the cache of a pod that takes it, and what a
// node said of its pods before does not count.
func TestCachesOfPods(t *testing.T) {
	d, err := evaluation.Read(os.DirFS("../predictor/testdata/simulated/llc-ddr4x2"))
	if err != nil {
		t.Fatal(err)
	}
	known, err := scoretest.SharedCaches(d, "blade", "0-3", "4-7")
	if err != nil {
		t.Fatal(err)
	}
	p, h := plugin(t, known, nil)
	names := []string{"n1", "n2"}
	for _, name := range names {
		h.node(name, "blade").add(pod("taker-"+name, scoretest.CacheTaker, 4, ""))
	}
	profiles := p.watch.profiles()
	profiles.lookup(scoretest.CacheTaker, "blade")
	profiles.lookup(scoretest.CacheLoser, "blade")
	profiles.calibrate()
	say := func(name, text string) {
		n := h.nodes[name]
		changed := n.node.DeepCopy()
		changed.Annotations[v1alpha1.ExclusiveCPUsAnnotation] = text
		n.node = changed
		n.generation++
	}
	before := h.nodes["n1"].node
	say("n1", `{"uid-taker-n1":"0-2"}`)
	if hint, err := p.afterNodeUpdate(klog.Background(), nil, before, h.nodes["n1"].node); err != nil || hint != fwk.Queue {
		t.Errorf("a pod gets CPUs of other caches: %v, %v; want %v", hint, err, fwk.Queue)
	}
	for _, better := range names {
		for _, name := range names {
			cpus := "0-2"
			if name == better {
				cpus = "0-3"
			}
			say(name, `{"uid-taker-`+name+`":"`+cpus+`"}`)
		}
		o := schedule(t, p, h, pod("new", scoretest.CacheLoser, 1, ""), names)
		for _, name := range names {
			if name != better && o.scores[name] >= o.scores[better] {
				t.Errorf("scores %v, want %s first", o.scores, better)
			}
		}
	}
}
