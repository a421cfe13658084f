package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// bill lists the modules that a program was built from, as the program itself says
// it, in the format of https://cyclonedx.org.
func bill(file, version, architecture string, at time.Time) ([]byte, error) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return writeBill(info, version, architecture, sha256.Sum256(content), at)
}

func writeBill(info *debug.BuildInfo, version, architecture string, sum [sha256.Size]byte, at time.Time) ([]byte, error) {
	purl := fmt.Sprintf("pkg:golang/%s@%s", info.Main.Path, version)
	b := cyclonedx.NewBOM()
	// The same program has the same number.
	id := sum
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // version 8 of RFC 9562
	b.SerialNumber = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16])
	b.Metadata = &cyclonedx.Metadata{
		Timestamp: at.Format(time.RFC3339),
		Component: &cyclonedx.Component{
			BOMRef: purl, Type: cyclonedx.ComponentTypeApplication, Name: program, Version: version, PackageURL: purl,
			Hashes:     &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
			Licenses:   &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
			Properties: &[]cyclonedx.Property{{Name: "go:version", Value: info.GoVersion}, {Name: "go:arch", Value: architecture}},
		},
	}
	components := []cyclonedx.Component{{
		BOMRef: "pkg:golang/std@" + info.GoVersion, Type: cyclonedx.ComponentTypeLibrary,
		Name: "std", Version: info.GoVersion, PackageURL: "pkg:golang/std@" + info.GoVersion,
	}}
	refs := []string{components[0].BOMRef}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := cyclonedx.Component{
			BOMRef: fmt.Sprintf("pkg:golang/%s@%s", m.Path, m.Version), Type: cyclonedx.ComponentTypeLibrary,
			Name: m.Path, Version: m.Version, PackageURL: fmt.Sprintf("pkg:golang/%s@%s", m.Path, m.Version),
		}
		if sum, ok := strings.CutPrefix(m.Sum, "h1:"); ok {
			raw, err := base64.StdEncoding.DecodeString(sum)
			if err != nil {
				return nil, fmt.Errorf("checksum of %s: %w", m.Path, err)
			}
			c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(raw)}}
		}
		components, refs = append(components, c), append(refs, c.BOMRef)
	}
	b.Components = &components
	b.Dependencies = &[]cyclonedx.Dependency{{Ref: purl, Dependencies: &refs}}
	var out bytes.Buffer
	encoder := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.Encode(b); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
