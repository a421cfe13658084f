package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"bandmate.dev/bandmate/agent"
	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/store"
	"bandmate.dev/bandmate/store/cluster"
	"bandmate.dev/bandmate/topology"
)

// kubernetesFlags of onboard say how it works with a cluster.
type kubernetesFlags struct {
	cluster                                          cli.ClusterFlags
	apply                                            bool
	template, node, container, image, serviceAccount string
}

// WithKubernetes adds to the onboard command what it does for a cluster: to put
// the profile there, and to write the Job that onboards on a node.
func WithKubernetes(a *cli.App, cmd *cobra.Command) *cobra.Command {
	var f kubernetesFlags
	cmd.Long += `

--kubernetes writes, instead, the Kubernetes Job that onboards the application of
a pod template on a node, and how to use it. --apply puts the profiles into the
cluster as well; the Job has it.`
	cmd.Example += `
  bandmate onboard db --kubernetes pod.yaml --node node-1 > job.yaml`
	flags := cmd.Flags()
	own := pflag.NewFlagSet("kubernetes", pflag.ContinueOnError)
	own.BoolVar(&f.apply, "apply", false, "also apply the profile and the machine's profile to a Kubernetes cluster")
	f.cluster.Add(own)
	own.StringVar(&f.template, "kubernetes", "", "write the Job that onboards the pod of this file (Pod, PodTemplate or workload)")
	own.StringVar(&f.node, "node", "", "with --kubernetes, the node to measure on, which should be cordoned")
	own.StringVar(&f.container, "container", "", "with --kubernetes, the container of the application (default: the first)")
	own.StringVar(&f.image, "image", defaultImage(), "with --kubernetes, the image of bandmate")
	own.StringVar(&f.serviceAccount, "service-account", "bandmate-onboard", "with --kubernetes, the account that stores the profile, bound to bandmate-profile-editor")
	flags.AddFlagSet(own)
	args, run := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		if f.template == "" {
			return args(cmd, given)
		}
		if len(given) < 1 || (len(given) > 1 && cmd.ArgsLenAtDash() != 1) {
			return cli.Usagef("%s --kubernetes: want NAME, or NAME -- CMD ARGS in place of the container's", cmd.CommandPath())
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		if f.template != "" {
			return onboardingJob(a, given, flags.Lookup("machine").Value.String(), f, passOn(flags, own))
		}
		if !f.apply {
			return run(cmd, given)
		}
		named := flags.Lookup("machine").Value
		return onboardAndApply(cmd.Context(), a, given[0], named.String(), f.cluster, func(machine string) error {
			if err := named.Set(machine); err != nil {
				return fmt.Errorf("--machine: %w", err)
			}
			return run(cmd, given)
		})
	}
	return cmd
}

// manifestVersion is the tag of the images in manifests.
const manifestVersion = "v0.1.0"

// defaultImage is the image of this release; for other builds, whose versions no image
// has, that of the manifests. A tag latest would be pulled each time.
func defaultImage() string {
	version := cli.Version()
	if !releaseVersion.MatchString(version) {
		version = manifestVersion
	}
	return "bandmate:" + version
}

var releaseVersion = regexp.MustCompile(`^v\d+\.\d+\.\d+(-rc\.\d+)?$`)

// stringArray is the type of flags whose values may hold commas, and are given one by one.
const stringArray = "stringArray"

// passOn returns the flags that were given and are the experiment's, as
// arguments.
func passOn(flags, own *pflag.FlagSet) []string {
	var args []string
	flags.Visit(func(f *pflag.Flag) {
		switch {
		case own.Lookup(f.Name) != nil, f.Name == "store", f.Name == "output", f.Name == "machine":
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
			if f.Value.Type() != stringArray {
				values = []string{strings.Join(values, ",")}
			}
		}
		for _, value := range values {
			args = append(args, "--"+f.Name+"="+value)
		}
	})
	return args
}

// onboardAndApply onboards with the cluster's profile of the machine, if it has
// one, and puts the result into the cluster. Without a name of the machine, it is the
// one that this machine is recognized as, else the node that the Job names.
func onboardAndApply(ctx context.Context, a *cli.App, name, machine string, f cli.ClusterFlags, onboard func(machine string) error) error {
	into, err := f.Store()
	if err != nil {
		return err
	}
	folder, err := a.OpenStore()
	if err != nil {
		return err
	}
	// Whether the cluster can be reached is better known before the experiment.
	known, _, err := into.Machines(ctx)
	if err != nil {
		return err
	}
	if machine == "" {
		if machine, err = recognized(a, known); err != nil {
			return err
		}
	}
	if machine, err = cli.MachineName(machine); err != nil {
		return err
	}
	if faults := validation.IsValidLabelValue(machine); len(faults) > 0 {
		return cli.Usagef("machine name %q: no node can be labeled with it: %s: choose another one with --machine", machine, faults[0])
	}
	for _, m := range known {
		if _, err := folder.Machine(m.Name); m.Name == machine && errors.Is(err, store.ErrNotFound) {
			if err := folder.Put(m); err != nil {
				return err
			}
		}
	}
	before, err := folder.Machine(machine)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err := onboard(machine); err != nil {
		return err
	}
	profile, err := folder.Application(name, machine)
	if err != nil {
		return err
	}
	measured, err := folder.Machine(machine)
	if err != nil {
		return err
	}
	return applyBoth(ctx, a, into, profile, measured, !reflect.DeepEqual(before, measured))
}

// applyBoth puts the profile of an application and that of its machine into the cluster.
// Other owners of fields lose them where both were measured just now; else the machine's
// profile may stay as it is.
func applyBoth(ctx context.Context, a *cli.App, into *cluster.Store, profile *v1alpha1.ApplicationProfile, machine *v1alpha1.MachineProfile, measured bool) error {
	results, notes, err := putMachine(ctx, into, machine, measured)
	if !measured {
		var conflicts []string
		results, conflicts = settled(results)
		notes = append(notes, conflicts...)
	}
	a.Warn(notes)
	more, failed := into.Put(ctx, cluster.PutOptions{ForceConflicts: true}, profile)
	results, err = append(results, more...), errors.Join(err, failed)
	for _, r := range results {
		if r.Err == nil {
			a.Notef("%s %s in the cluster: %s\n", v1alpha1.KindOf(r.Profile), r.Object, r.Outcome)
		}
	}
	if err := errors.Join(err, cluster.Failed(results)); err != nil {
		return fmt.Errorf("%w\n  the profile is in the folder: try bandmate apply", err)
	}
	return nil
}

// nodeVariable is the environment variable that names a pod's node.
const nodeVariable = "NODE_NAME"

// recognized returns the name of the profile among known that is of this machine, else
// that of the pod's node; empty outside a pod.
func recognized(a *cli.App, known []*v1alpha1.MachineProfile) (string, error) {
	here, err := topology.ReadHost()
	if err != nil {
		return "", err
	}
	node := a.Env(nodeVariable)
	name, why := agent.Recognize(here, known, node)
	if name == "" {
		return node, nil
	}
	if why != "" {
		a.Warn([]string{why})
	}
	return name, nil
}

// onboardingJob writes the Job for a pod template.
func onboardingJob(a *cli.App, given []string, machine string, f kubernetesFlags, flags []string) error {
	if a.Format == cli.FormatJSON {
		return cli.Usagef("-o json: the Job is YAML")
	}
	name := given[0]
	if faults := validation.IsDNS1123Subdomain(name); len(faults) > 0 {
		return cli.Usagef("application name %q: %s", name, faults[0])
	}
	if faults := validation.IsDNS1123Subdomain(f.node); len(faults) > 0 {
		return cli.Usagef("--node %q: %s", f.node, faults[0])
	}
	text, err := os.ReadFile(f.template)
	if err != nil {
		return fmt.Errorf("--kubernetes: %w", err)
	}
	pod, err := podTemplate(text)
	if err != nil {
		return fmt.Errorf("--kubernetes %s: %w", f.template, err)
	}
	job, warning, err := makeJob(pod, jobRequest{
		application: name, command: given[1:], node: f.node, container: f.container, image: f.image,
		serviceAccount: f.serviceAccount, machine: machine, flags: flags,
	})
	if err != nil {
		return fmt.Errorf("--kubernetes %s: %w", f.template, err)
	}
	if warning != "" {
		a.Warn([]string{warning})
	}
	return a.WriteBytes(job)
}

// podTemplate finds the pod in an object that holds one.
func podTemplate(text []byte) (*corev1.PodTemplateSpec, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("no object in it")
	}
	var o struct {
		Kind     string                  `json:"kind"`
		Metadata map[string]any          `json:"metadata"`
		Spec     map[string]any          `json:"spec"`
		Template *corev1.PodTemplateSpec `json:"template"`
	}
	if err := yaml.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("want one Kubernetes object: %w", err)
	}
	var from any
	switch o.Kind {
	case "Pod":
		from = map[string]any{"metadata": o.Metadata, "spec": o.Spec}
	case "PodTemplate":
		return checkTemplate(o.Template)
	case "CronJob":
		job, _ := o.Spec["jobTemplate"].(map[string]any)
		spec, _ := job["spec"].(map[string]any)
		from = spec["template"]
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job":
		from = o.Spec["template"]
	default:
		return nil, fmt.Errorf("kind %q: want a Pod, a PodTemplate or a workload such as Deployment or Job", o.Kind)
	}
	again, err := yaml.Marshal(from)
	if err != nil {
		return nil, err
	}
	var template corev1.PodTemplateSpec
	if err := yaml.UnmarshalStrict(again, &template); err != nil {
		return nil, fmt.Errorf("the pod: %w", err)
	}
	return checkTemplate(&template)
}

func checkTemplate(t *corev1.PodTemplateSpec) (*corev1.PodTemplateSpec, error) {
	if t == nil || len(t.Spec.Containers) == 0 {
		return nil, errors.New("the pod has no containers")
	}
	for _, containers := range [][]corev1.Container{t.Spec.InitContainers, t.Spec.Containers} {
		for i := range containers {
			if faults := validation.IsDNS1123Label(containers[i].Name); len(faults) > 0 {
				return nil, fmt.Errorf("the pod: container name %q: %s", containers[i].Name, faults[0])
			}
		}
	}
	return t, nil
}

// NewCopyItself returns the hidden command by which a Job takes this program into
// another image.
func NewCopyItself() *cobra.Command {
	return &cobra.Command{
		Use: "copy-itself FOLDER", Hidden: true, Args: cli.WantArgs(cobra.ExactArgs(1), "one folder"),
		Short:   "Copy this program into a folder, for a Job that runs it in another image",
		Example: "  bandmate copy-itself /bandmate-program",
		RunE:    func(_ *cobra.Command, args []string) error { return copyItself(args[0]) },
	}
}

// copyItself copies the running program into a folder.
func copyItself(folder string) (err error) {
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("copying the program: %w", err)
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(folder, "bandmate"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return fmt.Errorf("copying the program: %w", err)
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if _, err := io.Copy(to, from); err != nil {
		return fmt.Errorf("copying the program: %w", err)
	}
	return nil
}

// containerOf returns the index of the container of that name, of the first without one.
func containerOf(pod *corev1.PodTemplateSpec, name string) (int, error) {
	var names []string
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if name == "" || c.Name == name {
			return i, nil
		}
		names = append(names, c.Name)
	}
	return 0, fmt.Errorf("--container %q: want one of %s", name, cmp.Or(strings.Join(names, ", "), "none"))
}
