package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/golden"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/units"
)

// profile makes an application with two curves of two levels.
func profile(name string, traffic, worst float64) *v1alpha1.ApplicationProfile {
	p := &v1alpha1.ApplicationProfile{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Machine.Name = "desk"
	p.Spec.Command = []string{name, "--fast"}
	p.Spec.Solo = v1alpha1.Timing{Seconds: 1.5, Repeats: 3}
	p.Spec.Contentiousness = v1alpha1.Contentiousness{ReadBytesPerSecond: 0.75 * traffic, WriteBytesPerSecond: 0.25 * traffic, Source: "imc"}
	for _, share := range []float64{0.5, 1} {
		spread, half, whole := 0.01, 9e9, 17e9
		p.Spec.Curves = append(p.Spec.Curves, v1alpha1.SensitivityCurve{ReadShare: share, Points: []v1alpha1.CurvePoint{
			{Level: 0.5, InterfererBytesPerSecond: 10e9, AchievedBytesPerSecond: &half, NormalizedPerformance: (1 + worst) / 2, Repeats: 3, Spread: &spread},
			{Level: 1, InterfererBytesPerSecond: 20e9, AchievedBytesPerSecond: &whole, NormalizedPerformance: worst, Repeats: 3, Spread: &spread},
		}})
	}
	return p
}

func machine() *v1alpha1.MachineProfile {
	m := &v1alpha1.MachineProfile{ObjectMeta: metav1.ObjectMeta{Name: "desk"}}
	m.Spec.CPUModel, m.Spec.Sockets, m.Spec.NUMANodes, m.Spec.CPUs = "Test CPU", 1, 1, 8
	m.Spec.Sustained = []v1alpha1.SustainedBandwidth{{ReadShare: 0.5, BytesPerSecond: 20e9, Repeats: 3}}
	return m
}

func write(t *testing.T, c Content) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDataGolden(t *testing.T) {
	d, err := NewData(Content{
		Generated: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Version: "v0.1.0",
		Machines:     []*v1alpha1.MachineProfile{machine()},
		Applications: []*v1alpha1.ApplicationProfile{profile("triad", 12e9, 0.6), profile("xz", 2e9, 0.9)},
		Pairing:      &Pairing{Pairs: [][2]int{{0, 1}}, Alone: []int{}, Total: 2.2, Greedy: 2.2, Random: 2.2},
		Warnings:     []string{"one profile was not read"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Want(t, "testdata/data.golden.json", append(got, '\n'))
}

// scripts is how many script elements a page of few applications has, those of the data
// included: the list and a part.
const scripts = 4

// hostile is text that would leave the place it is put in, if it could.
const hostile = `</script><script>alert(1)</script><img src=x onerror=alert(2)>"'&` + "\u2028\u202e\x1b[31m"

func TestHostileTextsStayText(t *testing.T) {
	p, m := profile("evil", 5e9, 0.7), machine()
	p.Spec.Command = []string{hostile}
	p.Spec.Warnings = []string{hostile, strings.Repeat("x", 200)}
	p.Spec.Machine.Name, p.Name, m.Spec.CPUModel = hostile, hostile, hostile
	p.Spec.Contentiousness.Source, p.Spec.Curves[0].Pattern = hostile, hostile
	html := write(t, Content{
		Version: hostile, Warnings: []string{hostile},
		Machines: []*v1alpha1.MachineProfile{m}, Applications: []*v1alpha1.ApplicationProfile{p},
	})
	if got := strings.Count(strings.ToLower(html), "</script"); got != scripts {
		t.Errorf("%d script elements end, want the %d of the page", got, scripts)
	}
	for _, mark := range []string{"<img", "\u202e", "\u2028", "\x1b"} {
		if strings.Contains(html, mark) {
			t.Errorf("%q reached the page", mark)
		}
	}
	d := carried(t, html)
	if !strings.Contains(d.Applications[0].Command[0], "<img src=x onerror=alert(2)>") {
		t.Errorf("the text is not there to be shown: %q", d.Applications[0].Command[0])
	}
}

// FuzzWrite holds that no text of a profile ends the element that carries it, and
// that it reaches the reader.
func FuzzWrite(f *testing.F) {
	f.Add("xz", hostile)
	f.Add("<!--<script>", "]]>{{.}}\x00\xff")
	f.Fuzz(func(t *testing.T, name, text string) {
		p := profile(name, 5e9, 0.7)
		p.Spec.Command, p.Spec.Warnings, p.Spec.Machine.Name = []string{text}, []string{text}, text
		html := write(t, Content{Version: text, Warnings: []string{text}, Applications: []*v1alpha1.ApplicationProfile{p}})
		want := scripts
		if name == "" {
			want-- // does not compile: left out, and named in a warning
		}
		if got := strings.Count(strings.ToLower(html), "</script"); got != want {
			t.Errorf("%d script elements end, want the %d of the page", got, want)
		}
		d := carried(t, html)
		if name == "" {
			return
		}
		if got, want := d.Applications[0].Command[0], report.SanitizeText(text); got != want {
			t.Errorf("the command reads %q, want %q", got, want)
		}
	})
}

// carried reads the data back from the page, the applications from its parts.
func carried(t *testing.T, html string) (d Data) {
	t.Helper()
	_, rest, _ := strings.Cut(html, `<script type="application/json" id="data">`)
	text, rest, found := strings.Cut(rest, "</script>")
	if !found {
		t.Fatal("the page carries no data")
	}
	decode := func(text string, into any) {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	decode(text, &d)
	list := d.Applications
	d.Applications = d.Applications[:0:0]
	for {
		var part string
		if _, rest, found = strings.Cut(rest, `<script type="application/json" class="part">`); !found {
			break
		}
		part, rest, _ = strings.Cut(rest, "</script>")
		var some []Application
		decode(part, &some)
		if len(some) == 0 || len(some) > perPart || len(d.Applications)%perPart != 0 {
			t.Errorf("a part of %d applications after %d", len(some), len(d.Applications))
		}
		d.Applications = append(d.Applications, some...)
	}
	if len(list) != len(d.Applications) {
		t.Fatalf("%d applications are listed, %d in parts", len(list), len(d.Applications))
	}
	for i, a := range d.Applications {
		if list[i].Name != a.Name || list[i].Machine != a.Machine {
			t.Errorf("%s on %s is listed where %s on %s is in a part", list[i].Name, list[i].Machine, a.Name, a.Machine)
		}
	}
	return d
}

// TestPartsHoldEverything checks that the list and the parts hold the data, at the same
// places.
func TestPartsHoldEverything(t *testing.T) {
	var profiles []*v1alpha1.ApplicationProfile
	for i := range 2*perPart + 3 {
		p := profile(fmt.Sprintf("application-%d", i), 1e9*float64(i), 0.4+float64(i)/200)
		if i%10 == 3 {
			p.Spec.Curves = nil
		}
		if i%10 == 4 {
			p.Spec.Service = &v1alpha1.Service{SaturationRequestsPerSecond: 1e4 + float64(i)}
		}
		profiles = append(profiles, p)
	}
	want, err := NewData(Content{Applications: profiles})
	if err != nil {
		t.Fatal(err)
	}
	html := write(t, Content{Applications: profiles})
	text := func(d Data) string {
		encoded, err := json.MarshalIndent(d, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(encoded)
	}
	if diff := cmp.Diff(text(want), text(carried(t, html))); diff != "" {
		t.Errorf("-data +page: %s", diff)
	}
	_, rest, _ := strings.Cut(html, `id="data">`)
	head, _, _ := strings.Cut(rest, "</script>")
	var list struct{ Applications []listed }
	if err := json.Unmarshal([]byte(head), &list); err != nil {
		t.Fatal(err)
	}
	for i, a := range want.Applications {
		if diff := cmp.Diff(listed{a.Name, a.Machine, a.Read, a.Write, a.Suffers, a.Causes, i%10 != 3, a.Saturation, false}, list.Applications[i]); diff != "" {
			t.Errorf("-data +list: %s", diff)
		}
	}
}

// TestPolicyAllowsThePage holds the hashes of the policy to what is between the
// tags, and the page to asking for nothing else.
func TestPolicyAllowsThePage(t *testing.T) {
	html := write(t, Content{Applications: []*v1alpha1.ApplicationProfile{profile("triad", 12e9, 0.6)}})
	parts := regexp.MustCompile(`(?s)<(?:script|style)>(.*?)</(?:script|style)>`).FindAllStringSubmatch(html, -1)
	if len(parts) != 3 {
		t.Fatalf("%d scripts and styles, want two scripts and a style", len(parts))
	}
	for i, part := range parts {
		if !strings.Contains(Policy(false), hash(part[1])) {
			t.Errorf("the policy does not allow part %d", i)
		}
	}
	for _, outside := range regexp.MustCompile(`(?i)(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}[^"'\s]*|\s(?:style|on[a-z]+)=`).FindAllString(html, -1) {
		if !strings.HasPrefix(outside, "http://www.w3.org/2000/svg") { // the name of a language, not a place
			t.Errorf("the page mentions %q", outside)
		}
	}
}

func TestRanking(t *testing.T) {
	d, err := NewData(Content{Applications: []*v1alpha1.ApplicationProfile{profile("heavy", 18e9, 0.5), profile("light", 1e8, 0.95), profile("victim", 1e9, 0.4)}})
	if err != nil {
		t.Fatal(err)
	}
	of := func(i int) (suffers, causes float64) { return *d.Applications[i].Suffers, *d.Applications[i].Causes }
	_, heavyCauses := of(0)
	lightSuffers, lightCauses := of(1)
	victimSuffers, _ := of(2)
	if heavyCauses <= lightCauses || victimSuffers <= lightSuffers {
		t.Errorf("heavy causes %.3f, light %.3f; victim suffers %.3f, light %.3f", heavyCauses, lightCauses, victimSuffers, lightSuffers)
	}
}

func TestMissingIsNotZero(t *testing.T) {
	unknown, deaf := profile("unknown", 0, 0.5), profile("deaf", 5e9, 0.5)
	unknown.Spec.Contentiousness = v1alpha1.Contentiousness{}
	deaf.Spec.Curves = nil
	d, err := NewData(Content{Applications: []*v1alpha1.ApplicationProfile{unknown, deaf}})
	if err != nil {
		t.Fatal(err)
	}
	if d.Applications[0].Causes != nil || d.Applications[1].Suffers != nil {
		t.Errorf("what is not known was given a number: %+v", d.Applications)
	}
	if d.Applications[0].Suffers == nil || d.Applications[1].Causes == nil {
		t.Error("what is known is missing")
	}
}

// The page asks about the load of what it calls a service.
func TestOnlyServicesSaturate(t *testing.T) {
	redis := profile("redis", 5e9, 0.7)
	redis.Spec.Service = &v1alpha1.Service{SaturationRequestsPerSecond: 1e4}
	d := carried(t, write(t, Content{Applications: []*v1alpha1.ApplicationProfile{redis, profile("xz", 2e9, 0.9)}}))
	if s := d.Applications[0].Saturation; s == nil || *s != 1e4 {
		t.Errorf("the service saturates at %v", s)
	}
	if s := d.Applications[1].Saturation; s != nil {
		t.Errorf("what is no service saturates at %v", *s)
	}
}

func TestBrokenAmongGood(t *testing.T) {
	broken := profile("broken", 1e9, 0.9)
	broken.Spec.Curves[0].Points[0].NormalizedPerformance = -1
	apps := []*v1alpha1.ApplicationProfile{profile("good", 1e9, 0.9), broken}
	d, err := NewData(Content{Applications: apps})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Applications) != 1 || len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "broken") {
		t.Errorf("%d applications, warnings %q", len(d.Applications), d.Warnings)
	}
	for name, c := range map[string]Content{
		"left out":     {Applications: apps, Pairing: &Pairing{Pairs: [][2]int{{0, 1}}}},
		"out of range": {Applications: apps[:1], Pairing: &Pairing{Alone: []int{1}}},
	} {
		if _, err := NewData(c); err == nil {
			t.Errorf("%s: a pairing of what is not there was taken", name)
		}
	}
}

func TestEmpty(t *testing.T) {
	if d := carried(t, write(t, Content{})); d.Applications == nil || d.Machines == nil || d.Warnings == nil {
		t.Errorf("lists of an empty page are null: %+v", d)
	}
}

// BenchmarkWrite makes a page of 2,000 applications: how long, how large.
func BenchmarkWrite(b *testing.B) {
	var apps []*v1alpha1.ApplicationProfile
	for i := range 2000 {
		p := profile("application-"+units.Bandwidth(i).String(), 1e8+1e7*float64(i%1000), 0.4+float64(i%50)/100)
		apps = append(apps, p)
	}
	var html bytes.Buffer
	for b.Loop() {
		html.Reset()
		if err := Write(&html, Content{Applications: apps}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(html.Len()), "page-bytes")
}
