// Package deps pins modules while the code that needs them is being written.
package deps

import (
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/google/renameio/v2"
	_ "github.com/guptarohit/asciigraph"
	_ "github.com/jedib0t/go-pretty/v6/table"
	_ "github.com/klauspost/cpuid/v2"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/schollz/progressbar/v3"
	_ "github.com/spf13/cobra"
	_ "go.uber.org/goleak"
	_ "golang.org/x/perf/benchmath"
	_ "golang.org/x/perf/benchunit"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
	_ "gonum.org/v1/gonum/interp"
	_ "gonum.org/v1/gonum/optimize"
	_ "gonum.org/v1/gonum/stat"
	_ "k8s.io/apimachinery/pkg/apis/meta/v1"
	_ "k8s.io/apimachinery/pkg/util/validation/field"
	_ "k8s.io/utils/cpuset"
	_ "pgregory.net/rapid"
	_ "sigs.k8s.io/yaml"
)
