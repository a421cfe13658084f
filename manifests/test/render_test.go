package manifests

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	configv1 "bandmate.dev/bandmate/schedplugin/config/v1"
)

var update = flag.Bool("update", false, "rewrite the golden and the generated files")

const (
	chartDir  = "../chart"
	namespace = "bandmate-system"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil))) // the loader tells of symbolic links
	os.Exit(m.Run())
}

// render returns the files of the chart with these values, by template.
func render(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	chart, err := loader.LoadDir(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	var given map[string]any
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	merged, err := util.ToRenderValues(chart, given, common.ReleaseOptions{Name: "bandmate", Namespace: namespace, IsInstall: true}, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, merged)
	short := map[string]string{}
	for name, text := range files {
		if strings.TrimSpace(text) != "" {
			short[strings.TrimPrefix(name, "bandmate/templates/")] = text
		}
	}
	return short, err
}

func mustRender(t *testing.T, values string) map[string]string {
	t.Helper()
	files, err := render(t, values)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// objects returns the objects of YAML documents.
func objects(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, document := range regexp.MustCompile(`(?m)^---\s*$`).Split(text, -1) {
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &o.Object); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
	return all
}

// everything turns on what is off by default.
const everything = `
image: {registry: registry.example.com/tools, tag: v9.9.9, pullSecrets: [pull]}
scheduler: {replicas: 2, weight: 50, extraFlags: [--kube-api-qps=100], nodeSelector: {disk: ssd}, args: {unknownApplications: assume, assumedBytesPerSecond: 5.0e+9}}
agent: {privileges: perfmon, machine: rack7, source: imc, profilesHostPath: /var/lib/bandmate, exclusiveCPUs: true}
monitoring: {prometheusOperator: true, dashboard: true}
`

func join(files map[string]string) string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		if strings.HasSuffix(name, ".yaml") && name != "crds.yaml" {
			b.WriteString("# " + name + "\n" + strings.TrimSpace(files[name]) + "\n---\n")
		}
	}
	return b.String()
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs: run go test ./... -update in manifests/test and read the difference (-want +got):\n%s", file, diff)
	}
}

func TestRendered(t *testing.T) {
	golden(t, "testdata/default.golden.yaml", join(mustRender(t, "")))
	golden(t, "testdata/everything.golden.yaml", join(mustRender(t, everything)))
}

// helmOnly are the labels that say how an object was installed.
var helmOnly = regexp.MustCompile(`(?m)^ +(helm\.sh/chart|app\.kubernetes\.io/managed-by): .*\n`)

// The kustomizations are the chart's objects: nobody keeps two in step by hand.
func TestGenerated(t *testing.T) {
	files := mustRender(t, "")
	for template, file := range map[string]string{
		"scheduler.yaml":      "../base/scheduler.yaml",
		"scheduler-rbac.yaml": "../base/scheduler-rbac.yaml",
		"roles.yaml":          "../roles/roles.yaml",
		"agent.yaml":          "../overlays/agent/agent.yaml",
	} {
		text := helmOnly.ReplaceAllString(strings.TrimSpace(files[template]), "")
		golden(t, file, "# Generated from chart/templates/"+template+" by hack/generate.sh. Do not edit.\n"+text+"\n")
	}
}

func build(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := resources.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, string(text))
}

// kustomizations are what a cluster may install instead of the chart.
var kustomizations = []string{"../base", "../overlays/agent", "../overlays/high-availability", "../default-scheduler"}

func TestKustomizations(t *testing.T) {
	want := map[string]int{"../base": 18, "../overlays/agent": 25, "../overlays/high-availability": 26, "../default-scheduler": 6}
	for _, dir := range kustomizations {
		got := build(t, dir)
		if len(got) != want[dir] {
			t.Errorf("%s: %d objects, want %d", dir, len(got), want[dir])
		}
		for _, o := range got {
			if o.GetKind() == "Deployment" {
				replicas, _, err := unstructured.NestedFieldNoCopy(o.Object, "spec", "replicas")
				if wanted := float64(1 + strings.Count(dir, "high")); err != nil || replicas != wanted {
					t.Errorf("%s: %v replicas, want %v; %v", dir, replicas, wanted, err)
				}
			}
			if _, ok := o.GetLabels()["helm.sh/chart"]; ok {
				t.Errorf("%s: %s %s says that Helm installed it", dir, o.GetKind(), o.GetName())
			}
		}
	}
}

func TestValuesAreChecked(t *testing.T) {
	tests := []struct{ values, want string }{
		{"schedulr: {}", "schedulr"},
		{"scheduler: {weight: 0}", "/scheduler/weight"},
		{"scheduler: {args: {unknownApplications: hope}}", "/scheduler/args/unknownApplications"},
		{"scheduler: {args: {typo: 1}}", "typo"},
		{"scheduler: {extraFlags: [v=9]}", "/scheduler/extraFlags/0"},
		{"agent: {privileges: root}", "/agent/privileges"},
		{"agent: {profilesHostPath: relative}", "/agent/profilesHostPath"},
		{"image: {registry: example.com/}", "/image/registry"},
	}
	for _, tt := range tests {
		if _, err := render(t, tt.values); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.values, err, tt.want)
		}
	}
}

// The schema of the values and the arguments of the plugin know the same fields.
func TestSchemaKnowsTheArguments(t *testing.T) {
	text, err := os.ReadFile(chartDir + "/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]struct {
			Properties map[string]struct {
				Properties map[string]any `json:"properties"`
			} `json:"properties"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	var known map[string]any
	defaults := &configv1.BandmateArgs{}
	configv1.SetDefaults(defaults)
	encoded, err := json.Marshal(defaults)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(encoded, &known); err != nil {
		t.Fatal(err)
	}
	for name := range schema.Properties["scheduler"].Properties["args"].Properties {
		if _, ok := known[name]; !ok && name != "kind" && name != "apiVersion" {
			t.Errorf("values.schema.json knows %s, the plugin does not", name)
		}
		delete(known, name)
	}
	for name := range known {
		t.Errorf("the plugin knows %s, values.schema.json does not", name)
	}
}

// The configuration that the chart writes is one that the plugin accepts.
func TestSchedulerArguments(t *testing.T) {
	for _, values := range []string{"", everything} {
		for _, o := range objects(t, mustRender(t, values)["scheduler.yaml"]) {
			if o.GetKind() != "ConfigMap" {
				continue
			}
			text, _, err := unstructured.NestedString(o.Object, "data", "config.yaml")
			if err != nil {
				t.Fatal(err)
			}
			var c struct {
				Profiles []struct {
					PluginConfig []struct{ Args json.RawMessage }
				}
			}
			if err := yaml.Unmarshal([]byte(text), &c); err != nil {
				t.Fatal(err)
			}
			args, err := configv1.Decode(c.Profiles[0].PluginConfig[0].Args)
			if err != nil {
				t.Fatal(err)
			}
			if faults := args.Validate(field.NewPath("args")); len(faults) > 0 {
				t.Error(faults)
			}
		}
	}
}

// dashboardMetrics returns the names of the metrics that the dashboard shows.
func dashboardMetrics(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(chartDir + "/files/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			found := regexp.MustCompile(`bandmate_[a-z_]+`).FindAllString(target.Expr, -1)
			if len(found) == 0 {
				t.Errorf("panel %s shows nothing of ours: %s", p.Title, target.Expr)
			}
			for _, name := range found {
				names = append(names, strings.TrimSuffix(name, "_bucket"))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// What the dashboard shows exists.
func TestDashboard(t *testing.T) {
	var source bytes.Buffer
	for _, file := range []string{"../../agent/metrics.go", "../../schedplugin/metrics.go"} {
		text, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	for _, name := range dashboardMetrics(t) {
		if !strings.Contains(source.String(), `"`+name+`"`) && !strings.Contains(source.String(), `"`+strings.TrimPrefix(name, "bandmate_")+`"`) {
			t.Errorf("the dashboard shows %s, which nobody tells", name)
		}
	}
}
