package v1alpha1

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bandmate.dev/bandmate/units"
)

func TestParseMaxSlowdown(t *testing.T) {
	for text, want := range map[string]units.Slowdown{"1": 1, "1.15": 1.15, "1000": 1000} {
		if got, err := ParseMaxSlowdown(text); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0.9", "-1", "inf", "NaN", "1,15", "1.15x", "0x2", "1e2", "1_0", " 1", "1001", strings.Repeat("1", 1<<20)} {
		_, err := ParseMaxSlowdown(text)
		if err == nil || !strings.Contains(err.Error(), MaxSlowdownAnnotation) || len(err.Error()) > 200 {
			t.Errorf("%.20q: error %.300v, want a short one that names the annotation", text, err)
		}
	}
}

func TestParseServiceAnnotations(t *testing.T) {
	for text, want := range map[string]float64{"1": 1, "0.000001": 1e-6, "0.5": 0.5, "20000": 20000} {
		if got, err := ParseLoad(text); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]time.Duration{"2ms": 2 * time.Millisecond, "1.5s": 1500 * time.Millisecond, "1m": time.Minute} {
		if got, err := ParseMaxP99(text); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "0", "0.0000009", "0." + strings.Repeat("0", 310) + "5", "-1", "fast", "NaN", "inf", "2000000000", "0s", "-1ms", "5 ms",
		strings.Repeat("1", 1<<20), strings.Repeat("1h", 1<<19),
	} {
		if _, err := ParseLoad(text); err == nil || !strings.Contains(err.Error(), LoadAnnotation) || len(err.Error()) > 200 {
			t.Errorf("%.20q: error %.300v, want a short one that names the annotation", text, err)
		}
		if _, err := ParseMaxP99(text); err == nil || !strings.Contains(err.Error(), MaxP99Annotation) || len(err.Error()) > 200 {
			t.Errorf("%.20q: error %.300v, want a short one that names the annotation", text, err)
		}
	}
}

func TestParseNUMANode(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "1": 1, "4095": 4095} {
		if got, err := ParseNUMANode(text); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "0.5", "4096", "first"} {
		if got, err := ParseNUMANode(text); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}

func TestParseMeasuredTraffic(t *testing.T) {
	nine := metav1.NewTime(time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC))
	for _, want := range []MeasuredTraffic{{3e9, 1e9, metav1.Time{}, nine}, {3e9, 1e9, metav1.NewTime(nine.Add(-15 * time.Second)), nine}} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseMeasuredTraffic(string(text))
		if err != nil || got.Traffic() != (units.Traffic{Read: 3e9, Write: 1e9}) || !got.Time.Equal(&want.Time) || !got.Start.Equal(&want.Start) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if strings.Contains(string(text), "start") == want.Start.IsZero() {
			t.Errorf("start %v: %s", want.Start, text)
		}
	}
	for _, text := range []string{
		"", "{}", "null", "7", `{"readBytesPerSecond":1,"time":"2026-11-20T09:00:00Z"}`,
		`{"readBytesPerSecond":1,"writeBytesPerSecond":1}`,
		`{"readBytesPerSecond":-1,"writeBytesPerSecond":1,"time":"2026-11-20T09:00:00Z"}`,
		`{"readBytesPerSecond":1e300,"writeBytesPerSecond":1,"time":"2026-11-20T09:00:00Z"}`,
		`{"readBytesPerSecond":1,"writeBytesPerSecond":1,"time":"yesterday"}`,
		`{"readBytesPerSecond":1,"writeBytesPerSecond":1,"start":"yesterday","time":"2026-11-20T09:00:00Z"}`,
		`{"readBytesPerSecond":1,"writeBytesPerSecond":1,"start":"2026-11-20T09:00:01Z","time":"2026-11-20T09:00:00Z"}`,
		`{"a":"` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		if got, err := ParseMeasuredTraffic(text); err == nil || len(err.Error()) > 400 {
			t.Errorf("%.40q: %+v, error %.500v", text, got, err)
		}
	}
}

func FuzzParseMeasuredTraffic(f *testing.F) {
	f.Add(`{"readBytesPerSecond":3.1e9,"writeBytesPerSecond":1.2e9,"start":"2026-11-20T08:59:45Z","time":"2026-11-20T09:00:00Z"}`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMeasuredTraffic(text)
		if err == nil && (!m.Traffic().Read.Valid() || !m.Traffic().Write.Valid() || m.Time.IsZero() || m.Start.After(m.Time.Time)) {
			t.Fatalf("%q: %+v", text, m)
		}
	})
}

func FuzzParseMaxSlowdown(f *testing.F) {
	f.Add("1.15")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseMaxSlowdown(text); err == nil && (!(s >= 1) || math.IsInf(float64(s), 0)) {
			t.Fatalf("%q: %v", text, s)
		}
	})
}

func TestParseExclusiveCPUs(t *testing.T) {
	got, err := ParseExclusiveCPUs(`{"a":"2-3","b":"4,6-7"}`)
	if err != nil || len(got) != 2 || got["b"] != "4,6-7" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := ParseExclusiveCPUs(`{"a":"0-9999"}`); err != nil {
		t.Error(err)
	}
	for _, text := range []string{
		``, `[]`, `{"a":1}`, `{"a":""}`, `{"":"1"}`, `{"a":"2-"}`, `{"a":"0-99999"}`, `{"a":"x"}`, strings.Repeat(" ", MaxExclusiveCPUsBytes+1),
		`{"a":"0-9999,0"}`, `{"a":"0-9999","b":"0"}`, `{"a":"` + strings.Repeat("0-9999,", 4000) + `0"}`,
	} {
		if got, err := ParseExclusiveCPUs(text); err == nil || len(err.Error()) > 400 {
			t.Errorf("%.40q: %v, %v", text, got, err)
		}
	}
}
