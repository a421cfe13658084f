package schedplugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"bandmate.dev/bandmate/predictor/fast"
	"bandmate.dev/bandmate/predictor/score"
	"bandmate.dev/bandmate/schedplugin/config"
	configv1 "bandmate.dev/bandmate/schedplugin/config/v1"
	"bandmate.dev/bandmate/service"
)

// Name is the name of the plugin in a KubeSchedulerConfiguration.
const Name = "Bandmate"

// Plugin is the scheduler plugin.
type Plugin struct {
	handle  fwk.Handle
	args    *config.BandmateArgs
	metrics *instruments
	watch   *profileWatch
	members *members
	pods    *pods
	now     func() time.Time

	standIn   *fast.Model // of an unknown application under the policy assume; else nil
	scorers   *sync.Pool  // of *score.Scorer
	nodes     nodeCache
	shared    sync.Map // of the name of a shared memory domain to its last *domainState
	announcer *announcer
	// onNode returns the pods of the cluster on a node; nil unless limits are protected.
	onNode func(node string) []*v1.Pod
}

var (
	_ fwk.PreFilterPlugin   = &Plugin{}
	_ fwk.FilterPlugin      = &Plugin{}
	_ fwk.PostFilterPlugin  = &Plugin{}
	_ fwk.PreScorePlugin    = &Plugin{}
	_ fwk.ScorePlugin       = &Plugin{}
	_ fwk.ScoreExtensions   = &Plugin{}
	_ fwk.ReservePlugin     = &Plugin{}
	_ fwk.PostBindPlugin    = &Plugin{}
	_ fwk.SignPlugin        = &Plugin{}
	_ fwk.EnqueueExtensions = &Plugin{}
)

// New returns the plugin, for the scheduler's plugin registry. args are
// *config.BandmateArgs where config and config/v1 were added to the scheduler's
// configuration scheme, else raw text of config/v1. It fails on invalid arguments, and
// waits up to five seconds for the first list of profiles.
func New(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	typed, err := argsOf(args)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(handle.KubeConfig())
	if err != nil {
		return nil, fmt.Errorf("plugin %s: client for profiles: %w", Name, err)
	}
	p, err := newPlugin(typed, handle, client, register())
	if err != nil {
		return nil, err
	}
	if err := p.listen(); err != nil {
		return nil, err
	}
	p.watch.onChange = func() { p.activate(ctx) }
	p.watch.run(ctx)
	go p.announcer.run(ctx)
	p.metrics.plugins.Store(handle.ProfileName(), p)
	if p.metrics.audited.CompareAndSwap(false, true) {
		go p.newAuditor().run(ctx)
	}
	klog.FromContext(ctx).Info("Plugin started", "plugin", Name, "schedulerProfile", handle.ProfileName(),
		"profiles", p.watch.profiles().advisor.Len(), "unknownApplications", p.args.UnknownApplications)
	return p, nil
}

// argsOf decodes and validates the arguments.
func argsOf(o runtime.Object) (*config.BandmateArgs, error) {
	var args *config.BandmateArgs
	switch o := o.(type) {
	case *config.BandmateArgs:
		args = o
	case *runtime.Unknown:
		decoded, err := configv1.Decode(o.Raw)
		if err != nil {
			return nil, err
		}
		args = decoded
	case nil:
		defaults, err := configv1.Decode(nil)
		if err != nil {
			return nil, err
		}
		args = defaults
	default:
		return nil, fmt.Errorf("args of %s: %T: want BandmateArgs", Name, o)
	}
	if faults := args.Validate(field.NewPath("pluginConfig").Key(Name).Child("args")); len(faults) > 0 {
		return nil, faults.ToAggregate()
	}
	return args, nil
}

// newPlugin returns a plugin that does not yet watch the cluster.
func newPlugin(args *config.BandmateArgs, handle fwk.Handle, client dynamic.Interface, m *instruments) (*Plugin, error) {
	options, err := args.ScoreOptions()
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", Name, err)
	}
	p := &Plugin{handle: handle, args: args, metrics: m, pods: &pods{}, now: time.Now}
	p.announcer = newAnnouncer(p.explain, m.eventsDropped.Inc)
	p.pods.deleted = p.announcer.forget
	p.members = &members{deleted: p.nodes.forget, emptied: func(domain string) { p.shared.Delete(domain) }}
	if options.StandIn != nil {
		p.standIn = fast.New(options.StandIn)
	}
	p.scorers = &sync.Pool{New: func() any {
		s, _ := score.New(options) // the options were validated
		return s
	}}
	watch, err := newProfileWatch(client, m, func() {})
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", Name, err)
	}
	p.watch = watch
	p.pods.named = func(application string, d service.Demand) { watch.profiles().expect(application, d) }
	return p, nil
}

// listen watches nodes and pods through the scheduler's own informers, which start
// after all plugins were made.
func (p *Plugin) listen() error {
	core := p.handle.SharedInformerFactory().Core().V1()
	_, nodesErr := core.Nodes().Informer().AddEventHandler(p.members.handler())
	pods, podsErr := core.Pods().Informer().AddEventHandler(p.pods.handler())
	if podsErr == nil {
		p.pods.synced = pods.HasSynced
		if p.args.ProtectLimits {
			podsErr = p.indexByNode(core.Pods().Informer())
		}
	}
	if err := errors.Join(nodesErr, podsErr); err != nil {
		return fmt.Errorf("plugin %s: %w", Name, err)
	}
	return nil
}

// activate retries the pods that limits rejected, after profiles changed.
func (p *Plugin) activate(ctx context.Context) {
	if rejected := p.pods.takeRejected(); len(rejected) > 0 {
		klog.FromContext(ctx).V(2).Info("Profiles changed, retrying pods that limits rejected", "pods", len(rejected))
		p.handle.Activate(klog.FromContext(ctx), rejected)
	}
}

// Name returns Name.
func (p *Plugin) Name() string { return Name }
