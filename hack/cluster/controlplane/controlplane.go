// Package controlplane runs a Kubernetes control plane on loopback, without
// containers and without root: etcd, kube-apiserver, bandmate-scheduler, and
// nodes that kwok simulates. It is for tests and demonstrations.
package controlplane

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Names of the processes, and of their programs.
const (
	Etcd      = "etcd"
	APIServer = "apiserver"
	Scheduler = "bandmate-scheduler"
	Kwok      = "kwok"
)

// startOrder is also the reverse of the order in which they stop: an API server
// whose etcd is gone hangs.
var startOrder = []string{Etcd, APIServer, Scheduler, Kwok}

// Options say what to start.
type Options struct {
	// Dir is for everything that the cluster writes; it must not exist yet.
	Dir string
	// Bin holds the programs.
	Bin string
	// CRDs is the folder of our resource definitions; empty to leave them out.
	CRDs string
	// KwokStages is the folder of the stages that kwok plays; empty for no kwok.
	KwokStages string
	// SchedulerConfig returns a KubeSchedulerConfiguration that uses kubeconfig;
	// nil for DefaultSchedulerConfig.
	SchedulerConfig func(kubeconfig string) string
	// SchedulerFlags and APIServerFlags are added to the scheduler's and the API
	// server's.
	SchedulerFlags, APIServerFlags []string
	// WithoutScheduler leaves the scheduler out, for one in the test's process.
	WithoutScheduler bool
}

// Cluster is a running control plane.
type Cluster struct {
	dir   string
	state state
}

// state is what Open needs to find a cluster again.
type state struct {
	Bin            string         `json:"bin"`
	Ports          map[string]int `json:"ports"`
	KwokStages     string         `json:"kwokStages,omitempty"`
	SchedulerFlags []string       `json:"schedulerFlags,omitempty"`
	APIServerFlags []string       `json:"apiserverFlags,omitempty"`
}

// DefaultSchedulerConfig has two schedulers in one: default-scheduler without the
// plugin and bandmate-scheduler with it.
func DefaultSchedulerConfig(kubeconfig string) string {
	return fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q, qps: 5000, burst: 5000}
leaderElection: {leaderElect: true, resourceName: bandmate-scheduler, resourceNamespace: kube-system}
percentageOfNodesToScore: 100
profiles:
- schedulerName: default-scheduler
- schedulerName: bandmate-scheduler
  plugins:
    multiPoint:
      enabled: [{name: Bandmate, weight: 10}]
`, kubeconfig)
}

// Up starts a cluster and returns when the API server and the scheduler are
// ready. Whatever it started it stops again when it fails.
func Up(ctx context.Context, o Options) (c *Cluster, err error) {
	if err := os.Mkdir(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("cluster: %w: give a folder that does not exist yet", err)
	}
	c = &Cluster{dir: o.Dir, state: state{Bin: o.Bin, KwokStages: o.KwokStages, SchedulerFlags: o.SchedulerFlags, APIServerFlags: o.APIServerFlags}}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Down())
		}
	}()
	if c.state.Ports, err = freePorts(Etcd, "peer", APIServer, Scheduler, Kwok); err != nil {
		return c, err
	}
	if err := c.write(o); err != nil {
		return c, err
	}
	for _, name := range []string{Etcd, APIServer} {
		if err := c.Start(ctx, name); err != nil {
			return c, err
		}
	}
	if err := c.install(ctx, o.CRDs); err != nil {
		return c, err
	}
	if !o.WithoutScheduler {
		if err := c.Start(ctx, Scheduler); err != nil {
			return c, err
		}
	}
	if o.KwokStages != "" {
		return c, c.Start(ctx, Kwok)
	}
	return c, nil
}

// Open finds a cluster that Up started.
func Open(dir string) (*Cluster, error) {
	text, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if err != nil {
		return nil, fmt.Errorf("cluster: %w: is %s the folder given to up?", err, dir)
	}
	c := &Cluster{dir: dir}
	if err := json.Unmarshal(text, &c.state); err != nil {
		return nil, fmt.Errorf("cluster %s: state.json: %w", dir, err)
	}
	return c, nil
}

// Kubeconfig returns the path of the administrator's.
func (c *Cluster) Kubeconfig() string { return c.path("admin.kubeconfig") }

// SchedulerKubeconfig returns the path of the scheduler's.
func (c *Cluster) SchedulerKubeconfig() string { return c.path("scheduler.kubeconfig") }

// Config returns the administrator's client configuration, without client-side
// rate limits.
func (c *Cluster) Config() (*rest.Config, error) { return clientConfig(c.Kubeconfig()) }

func clientConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 5000, 5000
	return config, nil
}

// Server returns the address of a scheduler's server, of /metrics and /debug/pprof.
func (c *Cluster) Server(scheduler string) string {
	return fmt.Sprintf("https://127.0.0.1:%d", c.state.Ports[scheduler])
}

// Log returns what a process wrote.
func (c *Cluster) Log(name string) string {
	text, err := os.ReadFile(c.path(name + ".log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }

// write makes keys, tokens and configuration files.
func (c *Cluster) write(o Options) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	text, err := json.Marshal(c.state)
	if err != nil {
		return err
	}
	files := map[string]string{
		"state.json": string(text),
		"sa.key":     string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
	}
	var tokens strings.Builder
	for _, user := range []struct{ file, name, groups string }{
		{"admin", "admin", "system:masters"},
		{"scheduler", "system:kube-scheduler", ""},
	} {
		secret := make([]byte, 16)
		rand.Read(secret)
		token := hex.EncodeToString(secret)
		fmt.Fprintf(&tokens, "%s,%s,%s,%q\n", token, user.name, user.name, user.groups)
		files[user.file+".kubeconfig"] = c.kubeconfig(token)
	}
	files["tokens.csv"] = tokens.String()
	makeConfig := o.SchedulerConfig
	if makeConfig == nil {
		makeConfig = DefaultSchedulerConfig
	}
	files["scheduler.yaml"] = makeConfig(c.SchedulerKubeconfig())
	for name, text := range files {
		if err := os.WriteFile(c.path(name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("cluster: %w", err)
		}
	}
	return nil
}

func (c *Cluster) kubeconfig(token string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:%d", certificate-authority: %q}}]
users: [{name: u, user: {token: %q}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
`, c.state.Ports[APIServer], c.path("certs/apiserver.crt"), token)
}

// freePorts asks the kernel for ports that nobody listens on. Another process may
// take one before the server does, which then fails to start and says so.
func freePorts(names ...string) (ports map[string]int, err error) {
	ports = map[string]int{}
	for _, name := range names {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("cluster: no free port: %w", err)
		}
		// Open until all are known, or the kernel might give one out twice.
		defer func() { err = errors.Join(err, l.Close()) }()
		address, ok := l.Addr().(*net.TCPAddr)
		if !ok {
			return nil, fmt.Errorf("cluster: %v is no TCP address", l.Addr())
		}
		ports[name] = address.Port
	}
	return ports, nil
}

// until calls ready every 50 ms until it returns nil, or the time is up.
func until(ctx context.Context, limit time.Duration, what string, ready func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cluster: %s not ready after %v: %w", what, limit, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
