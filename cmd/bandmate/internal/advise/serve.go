package advise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/server"
)

// usualAddress is the default of --listen.
const usualAddress = "127.0.0.1:8765"

// serveFlags say where to answer, and from what.
type serveFlags struct {
	from        clusterSource
	listen      string
	allowRemote bool
	hosts       []string
}

// NewServe returns the command serve.
func NewServe(a *cli.App) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the report live, and predictions in JSON, on this machine",
		Long: `Serves the page of bandmate report, live, and an API in JSON, described by
OpenAPI at /api/v1/openapi.json. Each response uses the profiles as they are at
that moment. Nothing is changed.

Only this machine can reach it: it listens on a loopback address, and accepts
requests addressed to localhost or to an IP address. For remote access, use
--listen with --allow-remote, and --allow-host with the host name that clients
use. Anyone who can reach the server can read all profiles.

It ends, with exit code 0, on Ctrl-C or SIGTERM.`,
		Example: `  bandmate serve
  bandmate serve --listen 127.0.0.1:0 -o json
  bandmate serve --cluster --listen 0.0.0.0:8080 --allow-remote --allow-host node-1.example.org`,
		Args: cli.WantArgs(cobra.NoArgs, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.from.check(a, cmd.Flags()); err != nil {
				return err
			}
			return runServe(cmd.Context(), a, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", usualAddress, "address and port to listen on; port 0 chooses a free one")
	flags.BoolVar(&f.allowRemote, "allow-remote", false, "allow --listen to be an address that other machines can reach")
	flags.StringSliceVar(&f.hosts, "allow-host", nil, "host name that requests may use besides localhost and IP addresses")
	f.from.add(flags)
	return cmd
}

// Serving is what `serve -o json` prints when it listens.
type Serving struct {
	URL string `json:"url"`
	// Profiles is the folder, or cluster.
	Profiles string `json:"profiles"`
}

func runServe(ctx context.Context, a *cli.App, f serveFlags) error {
	source, place, err := serveFrom(a, f.from)
	if err != nil {
		return err
	}
	if _, err := source.Now(ctx); err != nil {
		return err
	}
	hosts := make([]string, len(f.hosts))
	for i, name := range f.hosts {
		hosts[i] = strings.ToLower(strings.TrimSuffix(name, "."))
	}
	handler, err := server.NewHandler(source, server.Options{Version: cli.Version(), Hosts: hosts})
	if err != nil {
		return err
	}
	l, err := server.Listen(ctx, f.listen, f.allowRemote)
	if err != nil {
		return explainListen(err, f.listen)
	}
	said := Serving{URL: "http://" + l.Addr().String() + "/", Profiles: place}
	if err := a.Print(said, func(w io.Writer) error { _, err := fmt.Fprintln(w, said.URL); return err }); err != nil {
		return errors.Join(err, l.Close())
	}
	a.Note(fmt.Sprintf("serving the profiles of %s at %s; stop with Ctrl-C", place, said.URL))
	return server.Serve(ctx, l, handler, log.New(a.Stderr, "bandmate: serve: ", 0))
}

// explainListen adds what would help.
func explainListen(err error, address string) error {
	switch {
	case errors.Is(err, server.ErrNotLoopback):
		return cli.Usagef("--listen: %w: others could read all profiles; if that is meant, give --allow-remote", err)
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("--listen %s: %w: another program, perhaps another bandmate serve, has this port: choose another one, or 127.0.0.1:0 for a free one", address, syscall.EADDRINUSE)
	case errors.Is(err, syscall.EACCES):
		// Not wrapped: a port is no matter of what this machine can measure.
		return fmt.Errorf("--listen %s: %v: ports below 1024 need a privilege: choose a higher one", address, syscall.EACCES) //nolint:errorlint // see above
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("--listen %s: %w: no interface of this machine has this address", address, syscall.EADDRNOTAVAIL)
	case errors.As(err, new(*net.AddrError)), errors.As(err, new(*net.DNSError)), errors.As(err, new(*net.ParseError)):
		return cli.Usagef("--listen: %w", err)
	}
	return fmt.Errorf("--listen %s: %w", address, err)
}
