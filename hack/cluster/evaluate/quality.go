package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/hack/cluster/controlplane"
	"bandmate.dev/bandmate/hack/cluster/results"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/units"
)

// slots is how many pods a node takes: what was measured of every combination
// is pairs.
const slots = 2

// truth is what was measured: the slowdown of the first beside the second.
type truth map[[2]string]float64

// strategy says which node the next pod goes to; free are the nodes with room.
type strategy struct {
	name string
	// choose is nil for a real scheduler.
	choose    func(w *world, application string, free []int) int
	scheduler string
}

// world is the state of one sequence of arrivals.
type world struct {
	nodes   [][]resident
	traffic map[string]units.Bandwidth
	random  *rand.Rand
}

type resident struct{ pod, application string }

func strategies() []strategy {
	return []strategy{
		{name: "random", choose: func(w *world, _ string, free []int) int { return free[w.random.IntN(len(free))] }},
		{name: results.DefaultScheduler, scheduler: "default-scheduler"},
		{name: "least bandwidth on the node", choose: leastBandwidth},
		{name: "**default scheduler + Bandmate**", scheduler: "bandmate-scheduler"},
	}
}

// leastBandwidth balances traffic: it takes the node whose pods transfer least
// alone.
func leastBandwidth(w *world, _ string, free []int) int {
	return slices.MinFunc(free, func(a, b int) int { return cmp.Compare(w.bandwidth(a), w.bandwidth(b)) })
}

func (w *world) bandwidth(node int) units.Bandwidth {
	var sum units.Bandwidth
	for _, r := range w.nodes[node] {
		sum += w.traffic[r.application]
	}
	return sum
}

// quality measures, for each platform and load, how slow pods really are under
// each strategy.
func quality(ctx context.Context, s settings, c *controlplane.Cluster, client kubernetes.Interface) error {
	for i := range s.nodes {
		n := controlplane.Node{Name: nodeName(i), CPUs: slots, Labels: map[string]string{v1alpha1.MachineLabel: "simulated"}}
		if err := c.AddNode(ctx, n); err != nil {
			return err
		}
	}
	record := results.Quality{Conditions: results.Now(s.kubernetes), Nodes: s.nodes, Places: slots, Sequences: s.seeds, Replacements: s.churn}
	for _, platform := range []string{"ddr3x4", "ddr4x2"} {
		d, err := evaluation.Read(os.DirFS(filepath.Join(s.data, platform)))
		if err != nil {
			return err
		}
		if err := apply(ctx, c, profilesOf(d, platform)); err != nil {
			return err
		}
		time.Sleep(2 * time.Second) // the scheduler gathers and compiles changes
		for _, load := range []float64{0.6, 0.75, 0.9} {
			rows, err := compare(ctx, s, client, d, platform, load)
			if err != nil {
				return err
			}
			record.Rows = append(record.Rows, rows...)
			fmt.Fprintf(os.Stderr, "%s at %.0f%%\n", platform, 100*load)
		}
	}
	table, err := record.Table()
	if err != nil {
		return err
	}
	if err := results.Write(s.records, "quality", record); err != nil {
		return err
	}
	_, err = fmt.Fprint(s.out, table)
	return err
}

// profilesOf returns what onboarding would have written with three read shares
// and four levels. Names carry the platform.
func profilesOf(d *evaluation.Dataset, platform string) []*v1alpha1.ApplicationProfile {
	var profiles []*v1alpha1.ApplicationProfile
	for i := range d.Apps {
		p := d.Apps[i].Profile(evaluation.Options{ReadShares: []units.ReadShare{0.5, 0.75, 1}, Levels: []float64{0.25, 0.5, 0.75, 1}})
		p.Name = applicationName(platform, p.Name)
		p.Spec.Machine.Name = "simulated"
		p.Spec.Measurement.Time = metav1.Time{}
		profiles = append(profiles, p)
	}
	return profiles
}

func applicationName(platform, name string) string {
	return platform + "-" + strings.ReplaceAll(strings.ToLower(name), "_", "-")
}

func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

// compare returns the rows of one platform and load.
func compare(ctx context.Context, s settings, client kubernetes.Interface, d *evaluation.Dataset, platform string, load float64) ([]results.QualityRow, error) {
	known := truth{}
	for _, p := range d.Pairs {
		known[[2]string{p.Target, p.Corunner}] = float64(p.Measured.Slowdown())
	}
	var rows []results.QualityRow
	for _, st := range strategies() {
		row := results.QualityRow{Platform: platform, Load: load, Placement: st.name}
		var all []float64
		for seed := range s.seeds {
			slowdowns, err := sequence(ctx, s, client, d, known, platform, load, st, uint64(seed))
			if err != nil {
				return nil, err
			}
			row.SequenceMeans = append(row.SequenceMeans, mean(slowdowns))
			all = append(all, slowdowns...)
		}
		slices.Sort(all)
		row.MeanSlowdown, row.Slowdown95, row.Observations = mean(all), all[len(all)*95/100], len(all)
		rows = append(rows, row)
	}
	return rows, nil
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// sequence plays one sequence of arrivals and departures, which depends on the
// seed alone, and returns every pod's true slowdown after every step.
func sequence(ctx context.Context, s settings, client kubernetes.Interface, d *evaluation.Dataset, known truth,
	platform string, load float64, st strategy, seed uint64,
) ([]float64, error) {
	arrivals := rand.New(rand.NewPCG(seed, 1))
	w := &world{nodes: make([][]resident, s.nodes), traffic: map[string]units.Bandwidth{}, random: rand.New(rand.NewPCG(seed, 2))}
	for _, a := range d.Apps {
		w.traffic[a.Name] = a.Remote.Traffic.Total()
	}
	fill := int(load * float64(slots*s.nodes))
	where := map[string]int{} // node of a pod
	var order []string
	var all []float64
	for step := range fill + s.churn {
		if step >= fill {
			i := arrivals.IntN(len(order))
			if err := w.leave(ctx, client, st, order[i], where); err != nil {
				return nil, err
			}
			order = slices.Delete(order, i, i+1)
		}
		application := d.Apps[arrivals.IntN(len(d.Apps))].Name
		pod := fmt.Sprintf("p%d-%d", seed, step)
		node, err := w.arrive(ctx, client, st, pod, application, platform)
		if err != nil {
			return nil, err
		}
		where[pod] = node
		order = append(order, pod)
		if step >= fill-1 {
			all = append(all, w.slowdowns(known)...)
		}
	}
	if st.choose == nil {
		return all, removePods(ctx, client)
	}
	return all, nil
}

func (w *world) arrive(ctx context.Context, client kubernetes.Interface, st strategy, pod, application, platform string) (int, error) {
	var node int
	if st.choose != nil {
		var free []int
		for i := range w.nodes {
			if len(w.nodes[i]) < slots {
				free = append(free, i)
			}
		}
		node = st.choose(w, application, free)
	} else {
		name, err := place(ctx, client, podOf(pod, applicationName(platform, application), st.scheduler, "", 1000))
		if err != nil {
			return 0, err
		}
		if _, err := fmt.Sscanf(name, "node-%d", &node); err != nil {
			return 0, fmt.Errorf("pod %s on node %q: %w", pod, name, err)
		}
	}
	w.nodes[node] = append(w.nodes[node], resident{pod, application})
	return node, nil
}

func (w *world) leave(ctx context.Context, client kubernetes.Interface, st strategy, pod string, where map[string]int) error {
	node := where[pod]
	w.nodes[node] = slices.DeleteFunc(w.nodes[node], func(r resident) bool { return r.pod == pod })
	if st.choose != nil {
		return nil
	}
	now := int64(0)
	return client.CoreV1().Pods(metav1.NamespaceDefault).Delete(ctx, pod, metav1.DeleteOptions{GracePeriodSeconds: &now})
}

// slowdowns returns what was measured of every pod beside whom it is.
func (w *world) slowdowns(known truth) []float64 {
	var all []float64
	for _, here := range w.nodes {
		for i, r := range here {
			slowdown := 1.0
			for j, other := range here {
				if j != i {
					slowdown = known[[2]string{r.application, other.application}]
				}
			}
			all = append(all, slowdown)
		}
	}
	return all
}
