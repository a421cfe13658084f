// Command cluster starts and stops a control plane on loopback; hack/cluster.sh
// builds what it needs and calls it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"bandmate.dev/bandmate/hack/cluster/controlplane"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: cluster up [flags] DIR | cluster down DIR")

func run(ctx context.Context, arguments []string) error {
	if len(arguments) < 2 {
		return errUsage
	}
	switch command := arguments[0]; command {
	case "up":
		return up(ctx, arguments[1:])
	case "down":
		c, err := controlplane.Open(arguments[1])
		if err != nil {
			return err
		}
		return c.Down()
	}
	return errUsage
}

func up(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	var o controlplane.Options
	var nodes int
	flags.StringVar(&o.Bin, "bin", "", "folder of the programs")
	flags.StringVar(&o.CRDs, "crds", "", "folder of the resource definitions")
	flags.StringVar(&o.KwokStages, "kwok-stages", "", "folder of kwok's stages; empty for no kwok")
	flags.IntVar(&nodes, "nodes", 4, "number of simulated nodes, node-0 and so on")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errUsage
	}
	dir, err := filepath.Abs(flags.Arg(0))
	if err != nil {
		return err
	}
	o.Dir = dir
	c, err := controlplane.Up(ctx, o)
	if err != nil {
		return err
	}
	for i := range nodes {
		if err := c.AddNode(ctx, controlplane.Node{Name: fmt.Sprintf("node-%d", i)}); err != nil {
			return errors.Join(err, c.Down())
		}
	}
	_, err = fmt.Fprintf(os.Stdout, "export KUBECONFIG=%s\n", c.Kubeconfig())
	return err
}
