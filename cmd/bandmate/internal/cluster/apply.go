// Package cluster has the commands that work with a Kubernetes cluster.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/store/cluster"
)

type applyFlags struct {
	cluster cli.ClusterFlags
	dryRun  bool
	force   bool
}

// NewApply returns the command apply.
func NewApply(a *cli.App) *cobra.Command {
	var f applyFlags
	cmd := &cobra.Command{
		Use:   "apply [FILE...]",
		Short: "Apply profiles to a Kubernetes cluster",
		Long: `Applies profiles to a Kubernetes cluster (server-side apply): those of files,
of standard input (-), or, without arguments, of the profile folder. Every file
is read and checked before anything is changed. A profile replaces the one of
the same application and machine; a second machine's profile of an application
gets an object of its own, named APPLICATION.MACHINE.

The cluster is that of kubectl: $KUBECONFIG, --kubeconfig, --context.`,
		Example: `  bandmate apply
  bandmate apply xz.yaml machine.yaml --dry-run
  bandmate profiles export xz | bandmate apply -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runApply(cmd.Context(), a, cmd.InOrStdin(), args, f)
		},
	}
	flags := cmd.Flags()
	f.cluster.Add(flags)
	flags.BoolVar(&f.dryRun, "dry-run", false, "have the API server check everything and change nothing")
	flags.BoolVar(&f.force, "force-conflicts", false, "take over fields that another manager owns, such as kubectl apply")
	return cmd
}

// applied is one line of the result.
type applied struct {
	Kind    string          `json:"kind"`
	Name    string          `json:"name"`
	Machine string          `json:"machine,omitempty"`
	Object  string          `json:"object,omitempty"`
	Outcome cluster.Outcome `json:"outcome,omitempty"`
	DryRun  bool            `json:"dryRun,omitempty"`
	Error   string          `json:"error,omitempty"`
}

func runApply(ctx context.Context, a *cli.App, stdin io.Reader, files []string, f applyFlags) error {
	objects, err := toApply(ctx, a, stdin, files)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return errors.New("no profile to apply: name files, or onboard an application first")
	}
	into, err := f.cluster.Store()
	if err != nil {
		return err
	}
	results, err := into.Put(ctx, cluster.PutOptions{DryRun: f.dryRun, ForceConflicts: f.force}, objects...)
	lines := make([]applied, 0, len(results))
	for _, r := range results {
		lines = append(lines, appliedLine(r, f.dryRun))
	}
	if len(lines) > 0 || err == nil {
		err = errors.Join(err, a.Print(lines, func(w io.Writer) error { return writeApplied(w, lines) }))
	}
	return errors.Join(err, cluster.Failed(results))
}

func appliedLine(r cluster.Result, dryRun bool) applied {
	line := applied{
		Kind: v1alpha1.KindOf(r.Profile), Name: r.Profile.GetName(), Object: r.Object,
		Outcome: r.Outcome, DryRun: dryRun,
	}
	if p, ok := r.Profile.(*v1alpha1.ApplicationProfile); ok {
		line.Name, line.Machine = v1alpha1.ApplicationOf(p), p.Spec.Machine.Name
	}
	if r.Err != nil {
		line.Error = r.Err.Error()
	}
	return line
}

func writeApplied(w io.Writer, lines []applied) error {
	for _, l := range lines {
		if l.Error != "" {
			continue // on standard error
		}
		dry := ""
		if l.DryRun {
			dry = " (dry run)"
		}
		if _, err := fmt.Fprintf(w, "%s.%s/%s %s%s\n", strings.ToLower(l.Kind), v1alpha1.Group, report.SanitizeText(l.Object), l.Outcome, dry); err != nil {
			return err
		}
	}
	return nil
}

// toApply returns the profiles of files, or of the folder where none is named.
func toApply(ctx context.Context, a *cli.App, stdin io.Reader, files []string) ([]v1alpha1.Object, error) {
	if len(files) == 0 {
		return storedProfiles(a)
	}
	var objects []v1alpha1.Object
	var faults []error
	for _, name := range files {
		found, err := readProfiles(ctx, stdin, name)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
		}
		objects = append(objects, found...)
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("nothing was applied: %w", errors.Join(faults...))
	}
	return objects, nil
}

// storedProfiles are all of the folder's, machines first; those that cannot be
// read are warned of.
func storedProfiles(a *cli.App) ([]v1alpha1.Object, error) {
	s, err := a.OpenStore()
	if err != nil {
		return nil, err
	}
	machines, broken, err := s.Machines()
	if err != nil {
		return nil, err
	}
	applications, more, err := s.Applications()
	if err != nil {
		return nil, err
	}
	return a.Objects(machines, applications, append(broken, more...)...), nil
}

func readProfiles(ctx context.Context, stdin io.Reader, name string) ([]v1alpha1.Object, error) {
	data, err := cli.ReadInput(ctx, stdin, name, v1alpha1.MaxStreamBytes+1)
	if err != nil {
		return nil, err
	}
	objects, err := v1alpha1.DecodeAll(data)
	if err == nil && len(objects) == 0 {
		err = errors.New("no profile in it")
	}
	return objects, err
}
