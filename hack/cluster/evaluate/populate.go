package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/hack/cluster/controlplane"
	"bandmate.dev/bandmate/predictor/evaluation"
)

// population is what a cluster was filled with; it stands in populated.json in
// the folder of one that is kept.
type population struct{ Nodes, Residents, Labeled, Profiles int }

// populated returns a cluster without a scheduler with the nodes, pods and
// profiles of the settings: the one in the folder of the settings when it is
// there, or a new one.
func populated(ctx context.Context, s settings) (*controlplane.Cluster, kubernetes.Interface, error) {
	want := population{Nodes: s.nodes, Residents: residents, Labeled: s.labeled, Profiles: s.profile}
	dir := s.dir
	if dir == "" {
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("bandmate-evaluate-%d", os.Getpid()))
	} else if text, err := os.ReadFile(filepath.Join(dir, "populated.json")); err == nil {
		return reopened(dir, text, want)
	}
	c, err := controlplane.Up(ctx, controlplane.Options{Dir: dir, Bin: s.bin, CRDs: s.crds, WithoutScheduler: true})
	if err != nil {
		return nil, nil, err
	}
	start := time.Now()
	client, err := clientOf(c)
	if err == nil {
		err = populate(ctx, s, c, client)
	}
	if err == nil {
		err = want.write(dir)
	}
	if err != nil {
		return nil, nil, errors.Join(err, c.Down(), os.RemoveAll(dir))
	}
	fmt.Fprintf(os.Stderr, "%d nodes, %d pods, %d profiles in %v\n", s.nodes, s.nodes*residents, s.profile, time.Since(start).Round(time.Second))
	return c, client, nil
}

func (p population) write(dir string) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "populated.json"), text, 0o600)
}

func reopened(dir string, text []byte, want population) (*controlplane.Cluster, kubernetes.Interface, error) {
	var have population
	if err := json.Unmarshal(text, &have); err != nil {
		return nil, nil, fmt.Errorf("%s/populated.json: %w", dir, err)
	}
	if have != want {
		return nil, nil, fmt.Errorf("the cluster in %s holds %+v and not %+v: give another folder, or the same flags", dir, have, want)
	}
	c, err := controlplane.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	client, err := clientOf(c)
	return c, client, err
}

// populate creates profiles, nodes and the pods on them.
func populate(ctx context.Context, s settings, c *controlplane.Cluster, client kubernetes.Interface) error {
	d, err := evaluation.Read(os.DirFS(filepath.Join(s.data, "ddr4x2")))
	if err != nil {
		return err
	}
	base := profilesOf(d, "app")
	profiles := make([]*v1alpha1.ApplicationProfile, s.profile)
	for i := range profiles {
		profiles[i] = base[i%len(base)].DeepCopy()
		profiles[i].Name = fmt.Sprintf("app-%d", i)
	}
	if err := apply(ctx, c, profiles); err != nil {
		return err
	}
	if err := each(s.nodes, func(i int) error {
		n := controlplane.Node{Name: nodeName(i), CPUs: 64, Pods: 250, Labels: map[string]string{v1alpha1.MachineLabel: "simulated"}}
		_, err := client.CoreV1().Nodes().Create(ctx, n.Object(), metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 1))
	choice := make([]int, s.nodes*residents)
	for i := range choice {
		choice[i] = random.IntN(s.profile)
	}
	if err := each(len(choice), func(i int) error {
		application := ""
		if i/s.nodes < s.labeled {
			application = fmt.Sprintf("app-%d", choice[i])
		}
		p := podOf(fmt.Sprintf("resident-%d", i), application, without, nodeName(i%s.nodes), 500)
		_, err := client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	_, err = client.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: batches}}, metav1.CreateOptions{})
	return err
}
