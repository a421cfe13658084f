package main

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// The layout that is written holds the program, to be run by nobody in
// particular, and comes out the same each time.
func TestLayout(t *testing.T) {
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("#!"), 0o755); err != nil {
		t.Fatal(err)
	}
	var digests []v1.Hash
	for range 2 {
		var parts []platformImage
		for _, architecture := range []string{"amd64", "arm64"} {
			p := &v1.Platform{OS: "linux", Architecture: architecture}
			image, err := assemble(file, "tool", p)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, platformImage{image, p})
		}
		dir := filepath.Join(t.TempDir(), "layout")
		if err := writeLayout(dir, indexOf(parts), "v1"); err != nil {
			t.Fatal(err)
		}
		path, err := layout.FromPath(dir)
		if err != nil {
			t.Fatal(err)
		}
		outer, err := path.ImageIndex()
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := outer.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, manifest.Manifests[0].Digest)
		inner, err := outer.ImageIndex(manifest.Manifests[0].Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkIndex(t, inner)
	}
	if digests[0] != digests[1] {
		t.Errorf("digests %s and %s", digests[0], digests[1])
	}
}

func checkIndex(t *testing.T, index v1.ImageIndex) {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 2 {
		t.Fatal(manifest, err)
	}
	for i, architecture := range []string{"amd64", "arm64"} {
		image, err := index.Image(manifest.Manifests[i].Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Architecture != architecture || config.Config.User != user || config.Config.Entrypoint[0] != "/tool" {
			t.Errorf("configuration %+v", config)
		}
		content := tar.NewReader(mutate.Extract(image))
		header, err := content.Next()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(content)
		if err != nil || header.Name != "tool" || header.Mode != 0o755 || string(text) != "#!" {
			t.Errorf("%+v %q %v", header, text, err)
		}
	}
}
