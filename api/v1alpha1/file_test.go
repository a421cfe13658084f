package v1alpha1_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	sigsyaml "sigs.k8s.io/yaml"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/golden"
)

func TestGoldenFiles(t *testing.T) {
	for name, o := range map[string]v1alpha1.Object{"application.yaml": soundApplication(), "machine.yaml": soundMachine()} {
		t.Run(name, func(t *testing.T) {
			got, err := v1alpha1.Encode(o)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name)
			golden.Want(t, path, got)
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			again, err := v1alpha1.Decode(want)
			if err != nil {
				t.Fatal(err)
			}
			text, err := v1alpha1.Encode(again)
			if err != nil || !bytes.Equal(text, want) {
				t.Errorf("decoding and encoding changed the file: %v\n%s", err, cmp.Diff(string(want), string(text)))
			}
		})
	}
}

// What a cluster adds is not written to a file, and a typed client's empty
// TypeMeta is filled in.
func TestEncodeLeavesOutWhatAClusterAdded(t *testing.T) {
	plain := soundMachine()
	want, err := v1alpha1.Encode(plain)
	if err != nil {
		t.Fatal(err)
	}
	stored := soundMachine()
	stored.TypeMeta = metav1.TypeMeta{}
	stored.UID, stored.ResourceVersion, stored.Generation = "u", "12", 3
	stored.CreationTimestamp = metav1.Now()
	stored.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1"}}
	stored.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"}
	got, err := v1alpha1.Encode(stored)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeForms(t *testing.T) {
	text, err := v1alpha1.EncodeAll(soundApplication(), soundMachine())
	if err != nil {
		t.Fatal(err)
	}
	application, machine, _ := strings.Cut(string(text), "---\n")
	asJSON, err := sigsyaml.YAMLToJSON([]byte(application))
	if err != nil {
		t.Fatal(err)
	}
	indent := func(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }
	list := "apiVersion: v1\nkind: List\nmetadata: {resourceVersion: ''}\nitems:\n-\n" + indent(application) + "\n-\n" + indent(machine)
	tests := []struct {
		name, text string
		want       int
	}{
		{"one", application, 1},
		{"two", string(text), 2},
		{"marker first", "---\n" + application, 1},
		{"comments and empty documents", "# a\n---\n# b\n---\n" + application + "---\n---\n", 1},
		{"carriage returns", strings.ReplaceAll(string(text), "\n", "\r\n"), 2},
		{"byte order mark", "\ufeff" + application, 1},
		{"JSON", string(asJSON), 1},
		{"JSON with tabs", "{\t\n" + strings.TrimPrefix(string(asJSON), "{"), 1},
		{"JSON with a surrogate pair", strings.Replace(string(asJSON), "2×", `\ud83d\ude00`, 1), 1},
		{"list", list, 2},
		{"nothing", "", 0},
		{"only comments", "# nothing\n", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objects, err := v1alpha1.DecodeAll([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if len(objects) != tt.want {
				t.Fatalf("%d profiles, want %d", len(objects), tt.want)
			}
		})
	}
	if _, err := v1alpha1.Decode(text); err == nil || !strings.Contains(err.Error(), "2 profiles: want exactly one") {
		t.Errorf("two documents for one: %v", err)
	}
	if p, err := v1alpha1.Decode([]byte(application)); err != nil || p.GetName() != "triad" {
		t.Errorf("application: %v", err)
	}
	if m, err := v1alpha1.DecodeMachineProfile([]byte(machine)); err != nil || m.Name != "node-a" {
		t.Errorf("machine: %v", err)
	}
	if _, err := v1alpha1.DecodeMachineProfile([]byte(application)); err == nil || !strings.Contains(err.Error(), "kind ApplicationProfile: want MachineProfile") {
		t.Errorf("wrong kind: %v", err)
	}
}

// What EncodeAll writes can be read again.
func TestEncodeAllIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes it slow, and other tests run the same code with it")
	}
	long := soundApplication()
	long.Spec.Command = slices.Repeat([]string{strings.Repeat("x", 16<<10)}, 100)
	for want, objects := range map[string][]v1alpha1.Object{
		"11 profiles take":                   slices.Repeat([]v1alpha1.Object{long}, 11),
		"10001 profiles: want at most 10000": slices.Repeat([]v1alpha1.Object{soundApplication()}, v1alpha1.MaxDocuments+1),
	} {
		if _, err := v1alpha1.EncodeAll(objects...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q in it", err, want)
		}
	}
}

func TestDecodeFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes it slow, and other tests run the same code with it")
	}
	golden, err := os.ReadFile("testdata/machine.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sound := string(golden)
	replace := func(old, text string) string {
		t.Helper()
		if !strings.Contains(sound, old) {
			t.Fatalf("the golden file does not hold %q", old)
		}
		return strings.Replace(sound, old, text, 1)
	}
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		ref := "*" + string(c-1)
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat(ref+",", 8) + ref + "]\n"
	}
	// Each is found within the time of a test only if no fault is compared with all others.
	manySamples := "apiVersion: bandmate.dev/v1alpha1\nkind: ApplicationProfile\nmetadata: {name: a}\nspec:\n  contentiousness:\n    timeline:\n" +
		strings.Repeat("    - {}\n", v1alpha1.MaxTimeline)
	long := strings.Repeat("é", 500_000)
	var manyAnnotations strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&manyAnnotations, "    a%d: \"\\a\"\n", i)
	}
	tests := []struct {
		name, text string
		want       []string
	}{
		{"unknown field", replace("  sockets:", "  socket: 2\n  sockets:"), []string{`line 7: unknown field "spec.socket"`}},
		{"other capitals", replace("  sockets: 1", "  Sockets: 1"), []string{`line 7: unknown field "spec.Sockets"`}},
		{"repeated field", replace("  sockets: 1", "  sockets: 1\n  sockets: 2"), []string{`line 8: field "sockets" is already given on line 7`}},
		{"text for a number", replace("readShare: 1,", "readShare: '1',"), []string{"line 23: spec.sustained[1].readShare: string: want a number"}},
		{"huge number", replace("bytesPerSecond: 42700000000", "bytesPerSecond: 1e999"), []string{"line 23: spec.sustained[1].bytesPerSecond: string: want a number"}},
		{"huge integer", replace("sockets: 1", "sockets: 99999999999999999999"), []string{"line 7: spec.sockets: number", "want a whole number"}},
		{"fraction", replace("cpus: 8", "cpus: 8.5"), []string{"line 9: spec.cpus: number 8.5: want a whole number"}},
		{"NaN", replace("bytesPerSecond: 42700000000", "bytesPerSecond: .nan"), []string{"line 23: .nan is not a number: leave out"}},
		{"infinity", replace("bytesPerSecond: 42700000000", "bytesPerSecond: -.Inf"), []string{"line 23: -.Inf is not a number"}},
		{"number for text", replace("name: node-a", "name: 17"), []string{"line 4: metadata.name: number: want text (put it in quotes)"}},
		{"text for a list", replace("warnings:\n    - huge pages are off", "warnings: none"), []string{"spec.warnings: string: want a list"}},
		{"validation", replace("readShare: 1,", "readShare: 100,"), []string{"line 23: spec.sustained[1].readShare: Invalid value: 100: want a share from 0 to 1"}},
		{"missing", replace("  sockets: 1\n", ""), []string{"line 6: spec.sockets: Required value"}},
		{"missing and another fault", strings.Replace(replace("cpus: 8", "cpus: 0"), "  sockets: 1\n", "", 1), []string{"spec.sockets: Required value", "spec.cpus: Invalid value: 0"}},
		{"null", replace("  sockets: 1\n", "  sockets: null\n"), []string{"line 7: spec.sockets: Required value"}},
		{"missing in an entry", replace("readShare: 1,", ""), []string{"line 23: spec.sustained[1].readShare: Required value"}},
		{"null for an entry", replace("    - huge pages are off", "    - null"), []string{"spec.warnings[0]: Required value"}},
		{"no specification", "apiVersion: bandmate.dev/v1alpha1\nkind: MachineProfile\nmetadata: {name: a}\n", []string{"spec.sockets: Required value", "spec.sustained: Required value"}},
		{"lines of a second document", "# one\n---\n" + replace("sockets: 1", "sockets: one"), []string{"line 9: spec.sockets: string: want a whole number"}},
		{"all documents", replace("cpus: 8", "cpus: 0") + "---\n" + replace("cpus: 8", "cpus: -1"), []string{"line 9: spec.cpus", "spec.cpus: Invalid value: -1"}},
		{"alias bomb", bomb, []string{"line 1: anchors and aliases"}},
		{"merge key", "a: {b: 1}\n<<: {c: 1}\n", []string{"line 2: want a plain name"}},
		{"tag", replace("cpuModel: AMD", "cpuModel: !!binary AMD"), []string{"line 6: the tag !!binary is not accepted"}},
		{"deep nesting", strings.Repeat("[", 5000), []string{"yaml: line 1"}},
		{"deep and closed", strings.Repeat("[", 100) + "x" + strings.Repeat("]", 100), []string{"line 1: nested more than 32 deep"}},
		{"deep JSON", strings.Repeat("[", 20000) + strings.Repeat("]", 20000), []string{"depth"}},
		{"not a profile", "hello", []string{"line 1: string: want a profile"}},
		{"a list", "- a\n", []string{"line 1: array: want a profile"}},
		{"other kind", "apiVersion: bandmate.dev/v1alpha1\nkind: Pod\n", []string{`line 2: kind "Pod": want ApplicationProfile or MachineProfile`}},
		{"other version", "kind: MachineProfile\napiVersion: v1\n", []string{`line 2: apiVersion "v1": want bandmate.dev/v1alpha1`}},
		{"fault in a list", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: bandmate.dev/v1alpha1, kind: Pod}\n", []string{`line 4: kind "Pod"`}},
		{"broken YAML", "a: 1\nb:\n\t- 2\n", []string{"line 3"}},
		{"broken YAML in a second document", "# one\n---\na: 1\nb:\n\t- 2\n", []string{"line 5"}},
		{"after the end", sound + "...\nmore: 1\n", []string{"separate documents with ---"}},
		{"not text", "\xff\xfe\x00", []string{"UTF-8"}},
		{"too large", "a: '" + strings.Repeat("x", v1alpha1.MaxDocumentBytes) + "'", []string{"want at most 2097152"}},
		{"too large a stream", strings.Repeat("#", v1alpha1.MaxStreamBytes+1), []string{"more than 16777216 bytes: split it into several files"}},
		{"very many documents", strings.Repeat("---\n", v1alpha1.MaxDocuments+1), []string{"want at most 10000"}},
		{"not a profile in a list", "apiVersion: v1\nkind: List\nitems: [1, {kind: x}]\n", []string{"line 3: number: want a profile", `line 3: apiVersion ""`}},
		{"very many faults in a list", "kind: List\nitems: [" + strings.Repeat("1,", 1000) + "1]\n", []string{"and more faults"}},
		{"very many samples that lack all", manySamples, []string{"spec.contentiousness.timeline[0].seconds: Required value", "and more faults"}},
		{"very many annotations", replace("  name: node-a\n", "  name: node-a\n  annotations:\n"+manyAnnotations.String()), []string{"want printable text", "and more faults"}},
		{"time", replace("measurement:", "measurement:\n    time: yesterday"), []string{`line 19: parsing time "yesterday"`}},
		{"a long name", replace("name: node-a", "name: "+long), []string{"line 4: metadata.name: Invalid value: \"é", "a lowercase RFC 1123 subdomain"}},
		{"a long kind", "apiVersion: bandmate.dev/v1alpha1\nkind: " + long + "\n", []string{`line 2: kind "é`, "want ApplicationProfile or MachineProfile"}},
		{"a long unknown field", `{"apiVersion": "bandmate.dev/v1alpha1", "kind": "MachineProfile", "metadata": {"name": "a"}, "spec": {"` + long + `": 1}}`, []string{`unknown field "spec.é`}},
		{"very many faults", strings.Repeat("---\nkind: x\n", 1000), []string{"and more faults"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objects, err := v1alpha1.DecodeAll([]byte(tt.text))
			if err == nil || objects != nil {
				t.Fatalf("accepted: %v", objects)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
			if n := strings.Count(err.Error(), "\n"); n > 25 {
				t.Errorf("the message has %d lines", n)
			}
			if n := len(err.Error()); n > 20_000 {
				t.Errorf("the message has %d bytes", n)
			}
		})
	}
}

// A caller can reach the field of a fault.
func TestFaultUnwraps(t *testing.T) {
	text, err := os.ReadFile("testdata/machine.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = v1alpha1.Decode(bytes.Replace(text, []byte("cpus: 8"), []byte("cpus: 0"), 1))
	var fault *v1alpha1.Fault
	var value *field.Error
	if !errors.As(err, &fault) || fault.Line != 9 || !errors.As(err, &value) || value.Field != "spec.cpus" {
		t.Errorf("got %#v, %#v", fault, value)
	}
}

func TestDeepCopiesShareNothing(t *testing.T) {
	for _, o := range []v1alpha1.Object{soundApplication(), soundMachine()} {
		want, err := v1alpha1.Encode(o)
		if err != nil {
			t.Fatal(err)
		}
		c := o.DeepCopyObject()
		if !equality.Semantic.DeepEqual(o, c) {
			t.Fatal("the copy differs")
		}
		switch c := c.(type) {
		case *v1alpha1.ApplicationProfile:
			*c.Spec.Curves[0].Points[0].Spread = 9
			*c.Spec.Measurement.MemoryNode = 9
			c.Spec.Contentiousness.Timeline[0].Seconds = 9
			c.Labels["suite"] = "other"
		case *v1alpha1.MachineProfile:
			*c.Spec.ProbeMap[0].Spread = 9
			c.Spec.Warnings[0] = "other"
		}
		if got, err := v1alpha1.Encode(o); err != nil || !bytes.Equal(got, want) {
			t.Errorf("changing the copy changed the original: %v", err)
		}
	}
}

func TestAddToScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{v1alpha1.KindApplicationProfile, v1alpha1.KindMachineProfile} {
		o, err := scheme.New(v1alpha1.GroupVersion().WithKind(kind))
		if err != nil {
			t.Fatal(err)
		}
		if got := v1alpha1.KindOf(o.(v1alpha1.Object)); got != kind {
			t.Errorf("kind %s makes a %s", kind, got)
		}
		if !scheme.Recognizes(v1alpha1.GroupVersion().WithKind(kind + "List")) {
			t.Errorf("no list of %s", kind)
		}
	}
	if got := v1alpha1.GroupVersion().String(); got != v1alpha1.APIVersion {
		t.Errorf("group version %s, want %s", got, v1alpha1.APIVersion)
	}
}
