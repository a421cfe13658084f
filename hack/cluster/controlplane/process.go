package controlplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
)

// Limits on waiting; a loaded machine needs most of them.
const (
	startLimit = 2 * time.Minute
	stopLimit  = 20 * time.Second
)

// Start starts a process and waits until it is ready.
func (c *Cluster) Start(ctx context.Context, name string) error {
	arguments := map[string][]string{
		Etcd: c.etcdArguments(), APIServer: c.apiserverArguments(), Kwok: c.kwokArguments(),
		Scheduler: c.schedulerArguments(Scheduler, c.path("scheduler.yaml"), c.state.SchedulerFlags),
	}[name]
	return c.StartProgram(ctx, name, name, arguments...)
}

// StartProgram starts a program of the cluster's folder under another name or
// with other arguments. Of a name that Start knows it waits until it is ready.
func (c *Cluster) StartProgram(ctx context.Context, name, program string, arguments ...string) error {
	log, err := os.OpenFile(c.path(name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	defer log.Close()
	// Not CommandContext: it outlives this program.
	command := exec.Command(filepath.Join(c.state.Bin, program), arguments...)
	command.Stdout, command.Stderr, command.Dir = log, log, c.dir
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return fmt.Errorf("cluster: %w: build the programs with hack/cluster.sh build", err)
	}
	if err := os.WriteFile(c.path(name+".pid"), []byte(strconv.Itoa(command.Process.Pid)), 0o600); err != nil {
		return errors.Join(fmt.Errorf("cluster: %w", err), command.Process.Kill())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		err := command.Wait()
		cancel(fmt.Errorf("cluster: %s ended (%v): %s", name, err, tail(c.Log(name)))) //nolint:errorlint // how it ended, for a person
	}()
	if err := until(ctx, startLimit, name, c.ready(name)); err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return nil
}

// tail returns the last lines of a log.
func tail(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return strings.Join(lines[max(len(lines)-5, 0):], "\n")
}

func (c *Cluster) etcdArguments() []string {
	client := fmt.Sprintf("http://127.0.0.1:%d", c.state.Ports[Etcd])
	peer := fmt.Sprintf("http://127.0.0.1:%d", c.state.Ports["peer"])
	return []string{
		"--data-dir", c.path("etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer,
		"--quota-backend-bytes", strconv.Itoa(8 << 30),
	}
}

func (c *Cluster) apiserverArguments() []string {
	return append([]string{
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", c.state.Ports[Etcd]),
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.state.Ports[APIServer]), "--cert-dir=" + c.path("certs"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.path("sa.key"), "--service-account-signing-key-file=" + c.path("sa.key"),
		"--service-cluster-ip-range=10.0.0.0/24", "--token-auth-file=" + c.path("tokens.csv"), "--authorization-mode=RBAC",
		// There is no controller manager to make service accounts and to untaint nodes.
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
		"--max-requests-inflight=0", "--max-mutating-requests-inflight=0", "--enable-priority-and-fairness=false",
	}, c.state.APIServerFlags...)
}

func (c *Cluster) schedulerArguments(name, config string, flags []string) []string {
	return append([]string{
		"--config=" + config, "--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.state.Ports[name]), "--cert-dir=" + c.path(name+"-certs"),
		"--authentication-kubeconfig=" + c.SchedulerKubeconfig(), "--authorization-kubeconfig=" + c.SchedulerKubeconfig(),
		"--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics,/debug/pprof/*", "--v=2",
	}, flags...)
}

// StartScheduler starts a program of the cluster's folder as one of its schedulers,
// with a KubeSchedulerConfiguration that uses kubeconfig, and waits until it is ready.
// Stop, PID, Log and Server know it by its name.
func (c *Cluster) StartScheduler(ctx context.Context, name, program string, config func(kubeconfig string) string, flags ...string) error {
	if c.state.Ports[name] == 0 {
		ports, err := freePorts(name)
		if err != nil {
			return err
		}
		c.state.Ports[name] = ports[name]
	}
	file := c.path(name + ".yaml")
	if err := os.WriteFile(file, []byte(config(c.SchedulerKubeconfig())), 0o600); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return c.StartProgram(ctx, name, program, c.schedulerArguments(name, file, flags)...)
}

// PID returns the number of a running process of the cluster.
func (c *Cluster) PID(name string) (int, error) {
	text, err := os.ReadFile(c.path(name + ".pid"))
	if err != nil {
		return 0, fmt.Errorf("cluster: %w: is %s running?", err, name)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return 0, fmt.Errorf("cluster: %s.pid holds %q", name, text)
	}
	return pid, nil
}

func (c *Cluster) kwokArguments() []string {
	arguments := []string{
		"--kubeconfig=" + c.Kubeconfig(), "--manage-all-nodes=true",
		fmt.Sprintf("--server-address=127.0.0.1:%d", c.state.Ports[Kwok]), "--node-lease-duration-seconds=40",
	}
	stages, err := filepath.Glob(filepath.Join(c.state.KwokStages, "*.yaml"))
	if err != nil {
		return arguments
	}
	for _, stage := range stages {
		arguments = append(arguments, "--config="+stage)
	}
	return arguments
}

// ready returns how to ask a process whether it is ready.
func (c *Cluster) ready(name string) func() error {
	address := fmt.Sprintf("https://127.0.0.1:%d/readyz", c.state.Ports[name])
	switch {
	case name == Kwok:
		address = fmt.Sprintf("http://127.0.0.1:%d/healthz", c.state.Ports[name])
	case name == Etcd:
		address = fmt.Sprintf("http://127.0.0.1:%d/readyz", c.state.Ports[name])
	case c.state.Ports[name] == 0:
		return func() error { return nil }
	}
	return func() error {
		client := &http.Client{Timeout: 5 * time.Second, Transport: c.transport(name)}
		answer, err := client.Get(address)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", address, answer.Status)
		}
		return nil
	}
}

// transport trusts the server's own certificate, which it has just made, and
// gives the API server the administrator's token.
func (c *Cluster) transport(name string) http.RoundTripper {
	if name == APIServer {
		if config, err := c.Config(); err == nil {
			if t, err := rest.TransportFor(config); err == nil {
				return t
			}
		}
	}
	return &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a test server on loopback
	}
}

// Stop ends a process and waits until it is gone; one that is not running is no
// error.
func (c *Cluster) Stop(name string) error {
	pid, err := c.PID(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for start := time.Now(); c.ours(pid); time.Sleep(20 * time.Millisecond) {
		signal := syscall.SIGTERM
		if time.Since(start) > stopLimit {
			signal = syscall.SIGKILL
		}
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("cluster: stop %s: %w", name, err)
		}
	}
	return os.Remove(c.path(name + ".pid"))
}

// ours reports whether a process still runs one of the cluster's programs:
// numbers of processes are used again.
func (c *Cluster) ours(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil || strings.Contains(string(status), ") Z ") {
		return false
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.HasPrefix(string(line), c.state.Bin+string(filepath.Separator))
}

// Down stops every process, in the order in which they can, and keeps the
// folder with its logs.
func (c *Cluster) Down() error {
	var faults []error
	others, err := filepath.Glob(c.path("*.pid"))
	faults = append(faults, err)
	for _, file := range others {
		if name := strings.TrimSuffix(filepath.Base(file), ".pid"); !slices.Contains(startOrder, name) {
			faults = append(faults, c.Stop(name))
		}
	}
	for _, name := range slices.Backward(startOrder) {
		faults = append(faults, c.Stop(name))
	}
	return errors.Join(faults...)
}
