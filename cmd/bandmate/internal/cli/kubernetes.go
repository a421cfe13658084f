package cli

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"bandmate.dev/bandmate/store/cluster"
)

// requestTimeout bounds one request to an API server; watches take none of it.
const requestTimeout = time.Minute

// ClusterFlags say which cluster is meant, as kubectl's do.
type ClusterFlags struct {
	Kubeconfig, context string
}

// Add defines the flags.
func (f *ClusterFlags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.Kubeconfig, "kubeconfig", "", "file with the cluster's address and credentials (default $KUBECONFIG, else ~/.kube/config, else the pod's service account)")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig (default: its current one)")
}

// Loader reads the kubeconfig when first asked.
func (f ClusterFlags) Loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.Kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context})
}

// Config returns how to reach the cluster.
func (f ClusterFlags) Config() (*rest.Config, error) {
	config, err := f.Loader().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("which cluster? %w: set KUBECONFIG, or give --kubeconfig and --context", err)
	}
	config.UserAgent = "bandmate/" + Version()
	config.Timeout = requestTimeout
	config.QPS = -1 // the API server decides what is too much
	return config, nil
}

// Store returns the profiles of the cluster.
func (f ClusterFlags) Store() (*cluster.Store, error) {
	config, err := f.Config()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	return cluster.New(client), nil
}
