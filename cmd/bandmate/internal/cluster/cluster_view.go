package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/schedplugin/config"
	configv1 "bandmate.dev/bandmate/schedplugin/config/v1"
	"bandmate.dev/bandmate/schedplugin/view"
)

// viewFlags say which cluster to look at, and with which arguments of the
// scheduler plugin.
type viewFlags struct {
	cli.ClusterFlags

	schedulerConfig string
	top             int
}

func (f *viewFlags) add(flags *pflag.FlagSet) {
	f.ClusterFlags.Add(flags)
	flags.StringVar(&f.schedulerConfig, "scheduler-config", "", "the scheduler's configuration file, for the plugin's arguments (default: the plugin's defaults)")
	flags.IntVar(&f.top, "top", 10, "show this many nodes, 0 for all")
}

func (f *viewFlags) validate() error {
	if f.top < 0 {
		return cli.Usagef("--top %d: want 0 or more", f.top)
	}
	return nil
}

// args returns the plugin's arguments in the configuration of a scheduler, which is empty
// where it is not known. The warning is empty where there is none.
func (f *viewFlags) args(scheduler string) (args *config.BandmateArgs, warning string, err error) {
	var text []byte
	if f.schedulerConfig != "" {
		data, err := os.ReadFile(f.schedulerConfig)
		if err != nil {
			return nil, "", fmt.Errorf("--scheduler-config: %w", err)
		}
		if text, warning, err = pluginArgs(data, scheduler); err != nil {
			return nil, "", fmt.Errorf("--scheduler-config %s: %w", f.schedulerConfig, err)
		}
	}
	if args, err = configv1.Decode(text); err != nil {
		return nil, "", err
	}
	if faults := args.Validate(fieldpath.NewPath("args")); len(faults) > 0 {
		return nil, "", fmt.Errorf("--scheduler-config %s: %w", f.schedulerConfig, faults.ToAggregate())
	}
	return args, warning, nil
}

// core reads the objects of Kubernetes itself.
type core struct{ client rest.Interface }

func newCore(f cli.ClusterFlags) (core, error) {
	c, err := f.Config()
	if err != nil {
		return core{}, err
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return core{}, err
	}
	c.APIPath, c.GroupVersion = "/api", &corev1.SchemeGroupVersion
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.ContentType = runtime.ContentTypeProtobuf
	c.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := rest.RESTClientFor(c)
	if err != nil {
		return core{}, fmt.Errorf("cluster: %w", err)
	}
	return core{client}, nil
}

// pageSize is how many objects are asked for at a time.
const pageSize = 500

// pages lists a resource page by page into list, and calls take after each.
func (c core) pages(ctx context.Context, resource, namespace, fields string, list metav1.ListInterface, take func()) error {
	object, ok := list.(runtime.Object)
	if !ok {
		return fmt.Errorf("list %s: %T is no object", resource, list)
	}
	options := metav1.ListOptions{Limit: pageSize, FieldSelector: fields}
	for {
		err := c.client.Get().NamespaceIfScoped(namespace, namespace != "").Resource(resource).
			VersionedParams(&options, metav1.ParameterCodec).Do(ctx).Into(object)
		if err != nil {
			return explainCore(err, "list", resource)
		}
		take()
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

func explainCore(err error, verb, resource string) error {
	err = fmt.Errorf("cluster: %s %s: %w", verb, resource, err)
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: ask for the cluster role bandmate-viewer", err)
	case !errors.As(err, new(apierrors.APIStatus)) && !errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: is this the right cluster, and does its API server run? see kubectl cluster-info", err)
	}
	return err
}

// pod returns one pod.
func (c core) pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	var p corev1.Pod
	err := c.client.Get().Namespace(namespace).Resource("pods").Name(name).Do(ctx).Into(&p)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("no pod %s in namespace %s: choose another one with -n", name, namespace)
	}
	if err != nil {
		return nil, explainCore(err, "get", "pods")
	}
	return &p, nil
}

// look reads the cluster: its profiles, nodes and pods. Predictions are those of a
// scheduler, which is empty where it is not known.
func look(ctx context.Context, f viewFlags, objects core, scheduler string) (*view.Cluster, *advisor.Advisor, error) {
	args, warning, err := f.args(scheduler)
	if err != nil {
		return nil, nil, err
	}
	profiles, err := f.Store()
	if err != nil {
		return nil, nil, err
	}
	applications, broken, err := profiles.Applications(ctx)
	if err != nil {
		return nil, nil, err
	}
	machines, more, err := profiles.Machines(ctx)
	if err != nil {
		return nil, nil, err
	}
	known := advisor.New(applications, machines, append(broken, more...)...)
	cluster, err := view.New(args, known, time.Now())
	if err != nil {
		return nil, nil, err
	}
	if warning != "" {
		cluster.Warnings = append(cluster.Warnings, warning)
	}
	for _, b := range known.Broken() {
		cluster.Warnings = append(cluster.Warnings, b.Error())
	}
	var nodes corev1.NodeList
	if err := objects.pages(ctx, "nodes", "", "", &nodes, func() {
		for i := range nodes.Items {
			cluster.AddNode(&nodes.Items[i])
		}
		nodes = corev1.NodeList{ListMeta: nodes.ListMeta}
	}); err != nil {
		return nil, nil, err
	}
	var pods corev1.PodList
	err = objects.pages(ctx, "pods", "", "", &pods, func() {
		for i := range pods.Items {
			cluster.AddPod(&pods.Items[i])
		}
		pods = corev1.PodList{ListMeta: pods.ListMeta}
	})
	return cluster, known, err
}
