// Command image builds the container images of Bandmate without a container
// daemon: static programs on nothing, for several architectures, as an OCI layout
// or pushed to a registry. The same sources give the same digests.
//
//	go run . -o dist/images
//	go run . -push registry.example.com/tools -tag v0.1.0
//	go run . -o dist/images -arch amd64
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// programs are the images, with the folder of the module that each is built in
// and the package there.
var programs = []struct{ name, module, pkg string }{
	{"bandmate", ".", "./cmd/bandmate"},
	{"bandmate-scheduler", "cmd/bandmate-scheduler", "."},
}

type options struct {
	root, out, push, tag string
	architectures        string // separated by commas
	stdout               io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	o := options{stdout: stdout}
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&o.root, "root", "../..", "folder of the repository")
	flags.StringVar(&o.out, "o", "", "folder for the OCI layouts, one for each image")
	flags.StringVar(&o.push, "push", "", "registry and path to push to, with docker's credentials")
	flags.StringVar(&o.tag, "tag", "latest", "tag of the images")
	flags.StringVar(&o.architectures, "arch", "amd64,arm64", "architectures of the images, separated by commas")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.out == "" && o.push == "" {
		return errors.New("want -o or -push")
	}
	for _, p := range programs {
		if err := o.image(ctx, p.name, filepath.Join(o.root, p.module), p.pkg); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// image builds one image and puts it where the options say.
func (o options) image(ctx context.Context, program, module, pkg string) (err error) {
	scratch, err := os.MkdirTemp("", "bandmate-image-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	var parts []platformImage
	for architecture := range strings.SplitSeq(o.architectures, ",") {
		platform := &v1.Platform{OS: "linux", Architecture: architecture}
		file := filepath.Join(scratch, platform.Architecture)
		if err := compile(ctx, module, pkg, file, platform); err != nil {
			return err
		}
		img, err := assemble(file, program, platform)
		if err != nil {
			return err
		}
		parts = append(parts, platformImage{img, platform})
	}
	index := indexOf(parts)
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	if o.out != "" {
		if err := writeLayout(filepath.Join(o.out, program), index, o.tag); err != nil {
			return err
		}
		fmt.Fprintf(o.stdout, "%s %s in %s\n", program, digest, filepath.Join(o.out, program))
	}
	if o.push == "" {
		return nil
	}
	reference, err := name.ParseReference(o.push + "/" + program + ":" + o.tag)
	if err != nil {
		return fmt.Errorf("-push: %w", err)
	}
	if err := remote.WriteIndex(reference, index, remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithContext(ctx)); err != nil {
		return fmt.Errorf("-push: %w: log in with docker login", err)
	}
	fmt.Fprintf(o.stdout, "%s@%s\n", reference, digest)
	return nil
}

// compile builds a static program that is the same wherever it is built.
func compile(ctx context.Context, module, pkg, file string, p *v1.Platform) error {
	out, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, pkg)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Architecture)
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// writeLayout replaces the layout in a folder.
func writeLayout(dir string, index v1.ImageIndex, tag string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag}))
}
