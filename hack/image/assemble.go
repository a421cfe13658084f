package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is an arbitrary one that is not root.
const user = "65532:65532"

// platformImage is an image for one platform.
type platformImage struct {
	image    v1.Image
	platform *v1.Platform
}

// assemble makes an image of one program and nothing else, which it starts.
func assemble(file, program string, p *v1.Platform) (v1.Image, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	archive, err := pack(program, content)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(archive)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{CreatedBy: "bandmate hack/image"}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = p.OS, p.Architecture
	config.Config = v1.Config{
		Entrypoint: []string{"/" + program},
		User:       user,
		Labels:     map[string]string{"org.opencontainers.image.title": program, "org.opencontainers.image.licenses": "Apache-2.0"},
	}
	return mutate.ConfigFile(image, config)
}

// pack makes a layer with one program, without times.
func pack(program string, content []byte) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	header := &tar.Header{Name: program, Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg}
	if err := w.WriteHeader(header); err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	if _, err := w.Write(content); err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	return b.Bytes(), nil
}

// indexOf joins the images of several platforms under one name.
func indexOf(parts []platformImage) v1.ImageIndex {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range parts {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: p.image, Descriptor: v1.Descriptor{Platform: p.platform}})
	}
	return index
}
