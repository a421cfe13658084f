// Command release builds what a release consists of, for every platform: an
// archive, a Debian package and a bill of materials, and the checksums of all.
// hack/release.sh runs it.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// program is what is released.
const program = "bandmate"

// architectures are Go's names; Debian has the same ones.
var architectures = []string{"amd64", "arm64"}

// semanticVersion is what https://semver.org allows, with a v and without build
// metadata, which a Debian version cannot hold.
var semanticVersion = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// releasing is one release that is being built.
type releasing struct {
	version, out, root string
	// time is that of every file in it.
	time time.Time
}

func run(ctx context.Context, args []string, stdout io.Writer) (err error) {
	var r releasing
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&r.version, "version", "", "version, as v0.1.0")
	flags.StringVar(&r.out, "out", "", "folder for the files; those of the same names are replaced")
	flags.StringVar(&r.root, "root", "../..", "folder of the repository")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if !semanticVersion.MatchString(r.version) {
		return fmt.Errorf("-version %q: want a version such as v0.1.0 or v0.1.0-rc.1", r.version)
	}
	if r.out == "" {
		return errors.New("-out: want a folder")
	}
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w: want seconds since 1970", err)
	}
	r.time = time.Unix(seconds, 0).UTC()
	scratch, err := os.MkdirTemp("", "bandmate-release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	return r.build(ctx, scratch, stdout)
}

func (r releasing) build(ctx context.Context, scratch string, stdout io.Writer) error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	// Completions are what a program that runs here says.
	native := filepath.Join(scratch, "native")
	if err := r.compile(ctx, runtime.GOARCH, native); err != nil {
		return err
	}
	var made []string
	for _, architecture := range architectures {
		files, err := r.platform(ctx, scratch, native, architecture)
		if err != nil {
			return fmt.Errorf("%s: %w", architecture, err)
		}
		made = append(made, files...)
	}
	slices.Sort(made)
	var sums strings.Builder
	for _, file := range made {
		content, err := os.ReadFile(filepath.Join(r.out, file))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), file)
		fmt.Fprintf(stdout, "%9d %s\n", len(content), file)
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// platform makes the files of one architecture and returns their names.
func (r releasing) platform(ctx context.Context, scratch, native, architecture string) ([]string, error) {
	binary := native
	if architecture != runtime.GOARCH {
		binary = filepath.Join(scratch, architecture)
		if err := r.compile(ctx, architecture, binary); err != nil {
			return nil, err
		}
	}
	stage := filepath.Join(scratch, "stage-"+architecture)
	if err := r.command(ctx, r.root, "make", "--silent", "install", "DESTDIR="+stage, "PREFIX=/usr", "BINARY="+binary, "NATIVE="+native).Run(); err != nil {
		return nil, fmt.Errorf("make install: %w", err)
	}
	bill, err := bill(binary, r.version, architecture, r.time)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s-%s-linux-%s", program, strings.TrimPrefix(r.version, "v"), architecture)
	archive, err := archive(os.DirFS(filepath.Join(stage, "usr")), name, r.time)
	if err != nil {
		return nil, err
	}
	debian, err := debianPackage(stage, debianVersion(r.version), architecture, r.time)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range []struct {
		name    string
		content []byte
	}{
		{name + ".tar.gz", archive},
		{name + ".cdx.json", bill},
		{fmt.Sprintf("%s_%s_%s.deb", program, debianVersion(r.version), architecture), debian},
	} {
		if err := os.WriteFile(filepath.Join(r.out, file.name), file.content, 0o644); err != nil {
			return nil, err
		}
		names = append(names, file.name)
	}
	return names, nil
}

// compile builds a static program that is the same wherever it is built.
func (r releasing) compile(ctx context.Context, architecture, file string) error {
	cmd := r.command(ctx, r.root, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -buildid= -X bandmate.dev/bandmate/cmd/bandmate/internal/cli.release="+r.version, "-o", file, "./cmd/bandmate")
	cmd.Env = append(cmd.Env, "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+architecture, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	return nil
}

func (r releasing) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	// Completions must not depend on who builds.
	cmd.Env = append(os.Environ(), "BANDMATE_CONFIG=/dev/null", "LC_ALL=C.UTF-8")
	return cmd
}
