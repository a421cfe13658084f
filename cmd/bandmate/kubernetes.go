package main

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

// clusterFlags say which cluster is meant, as kubectl's do.
type clusterFlags struct {
	kubeconfig, context string
}

func (f *clusterFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "file with the cluster's address and credentials (default $KUBECONFIG, else ~/.kube/config, else the pod's service account)")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig (default: its current one)")
}

// loader reads the kubeconfig when first asked.
func (f clusterFlags) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context})
}

// config returns how to reach the cluster.
func (f clusterFlags) config() (*rest.Config, error) {
	config, err := f.loader().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("which cluster? %w: set KUBECONFIG, or give --kubeconfig and --context", err)
	}
	config.UserAgent = "bandmate/" + version()
	config.Timeout = requestTimeout
	config.QPS = -1 // the API server decides what is too much
	return config, nil
}

// store returns the profiles of the cluster.
func (f clusterFlags) store() (*cluster.Store, error) {
	config, err := f.config()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	return cluster.New(client), nil
}
