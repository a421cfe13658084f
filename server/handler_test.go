package server

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"bandmate.dev/bandmate/advisor"
	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/report/page"
)

// hostile is a name that would be markup, were it not text.
const hostile = "</script><img src=x onerror=alert(1)>\u202e\u05e9"

// fake has five applications, of which the profile of aaa is invalid and web is a
// service; it is its own source.
type fake struct {
	*advisor.Advisor

	err error // of Now
}

func newFake() *fake {
	var applications []*v1alpha1.ApplicationProfile
	for _, name := range []string{"aaa", "bbb", "triad", "web", "xz"} {
		p := &v1alpha1.ApplicationProfile{}
		p.Name, p.Spec.Machine.Name = name, "here"
		p.Spec.Solo = v1alpha1.Timing{Seconds: 1, Repeats: 3}
		if name != "aaa" {
			p.Spec.Contentiousness = v1alpha1.Contentiousness{ReadBytesPerSecond: 1e10, Source: "imc"}
		}
		p.Spec.Curves = []v1alpha1.SensitivityCurve{{ReadShare: 1, Points: []v1alpha1.CurvePoint{
			{Level: 1, InterfererBytesPerSecond: 2e10, AchievedBytesPerSecond: new(2e10), NormalizedPerformance: 0.5, Repeats: 3},
		}}}
		if name == "web" { // M/M/1; too little is known of it for a model of the memory
			p.Spec.Curves[0].Points[0].AchievedBytesPerSecond = nil
			p.Spec.Service = &v1alpha1.Service{SaturationRequestsPerSecond: 1000, Factors: []v1alpha1.ServiceFactors{
				{RequestsPerSecond: 900, ReadBytesPerSecond: 1e10, Curves: p.Spec.Curves},
			}}
			for _, load := range []float64{100, 500, 900} {
				p99 := 4.6 / (1000 - load)
				p.Spec.Service.Loads = append(p.Spec.Service.Loads, v1alpha1.ServiceLoad{
					RequestsPerSecond: load, P50Seconds: p99 / 7, P90Seconds: p99 / 2, P99Seconds: p99, P999Seconds: 2 * p99, Requests: 9000,
				})
			}
		}
		applications = append(applications, p)
	}
	machine := &v1alpha1.MachineProfile{}
	machine.Name = "here"
	machine.Spec.Sockets, machine.Spec.NUMANodes, machine.Spec.CPUs = 1, 1, 2
	machine.Spec.Sustained = []v1alpha1.SustainedBandwidth{{ReadShare: 1, BytesPerSecond: 2e10, Repeats: 3}}
	broken := errors.New("one is broken: " + hostile)
	return &fake{Advisor: advisor.New(applications, []*v1alpha1.MachineProfile{machine}, broken)}
}

func (f *fake) Now(context.Context) (*advisor.Advisor, error) { return f.Advisor, f.err }

func newTestHandler(t testing.TB, source Source) http.Handler {
	t.Helper()
	h, err := NewHandler(source, Options{Version: "v1", Hosts: []string{"bandmate.example.org"}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// get asks for a target such as /healthz at localhost.
func get(t testing.TB, h http.Handler, target string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://localhost:8765"+target, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func bodyOf(t testing.TB, r *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestStatuses(t *testing.T) {
	h := newTestHandler(t, newFake())
	long := strings.Repeat("x", longestText+1)
	for _, tt := range []struct {
		target string
		status int
		field  string // of the first error
		says   string
	}{
		{"/", 200, "", "<!doctype html>"},
		{"/favicon.ico", 204, "", ""},
		{"/healthz", 200, "", `"status": "ok"`},
		{"/healthz?x=1", 400, "x", "no such parameter"},
		{"/api/v1/openapi.json", 200, "", `"openapi": "3.1.1"`},
		{"/api/v1/predict?target=triad&corunner=xz", 200, "", `"slowdown": 1.25`},
		{"/api/v1/predict?target=triad&corunner=xz&corunner=xz&explain=true&method=memgen", 200, "", `"method": "memgen"`},
		{"/api/v1/predict?target=triad", 400, "corunner", "is missing"},
		{"/api/v1/predict?corunner=triad", 400, "target", "is missing"},
		{"/api/v1/predict?target=triad&target=xz&corunner=xz", 400, "target", "2 times: want at most 1"},
		{"/api/v1/predict?target=triad&corunner=" + long, 400, "corunner", "257 bytes"},
		{"/api/v1/predict?target=triad&corunner=%ff", 400, "corunner", "UTF-8"},
		{"/api/v1/predict?target=triad&corunner=", 400, "corunner", "is empty"},
		{"/api/v1/predict?target=triad&corunner=xz&method=guess", 400, "method", "want one of"},
		{"/api/v1/predict?target=triad&corunner=xz&explain=maybe", 400, "explain", "true or false"},
		{"/api/v1/predict?target=triad&corunner=xz" + strings.Repeat("&corunner=xz", mostCorunners), 400, "corunner", "at most 64"},
		{"/api/v1/predict?target=triad&corunner=" + strings.Repeat("x", longestQuery), 414, "", "at most"},
		{"/api/v1/predict?target=%zz", 400, "", "cannot be read"},
		{"/api/v1/predict?target=a;b=c", 400, "", "cannot be read"},
		{"/api/v1/predict?target=nobody&corunner=xz", 404, "target", "no such profile"},
		{"/api/v1/predict?target=xz&corunner=triad&corunner=aaa", 422, "corunner", "contentiousness"},
		{"/api/v1/predict?target=web&corunner=xz&load=300&maxP99=100ms", 200, "", `"kept": true`},
		{"/api/v1/predict?target=web&corunner=xz&load=300&maxP99=1ms", 200, "", `"kept": false`},
		{"/api/v1/predict?target=xz&corunner=web&load=web=300", 200, "", `"corunnerServices": {`},
		{"/api/v1/predict?target=xz&corunner=web&load=300", 422, "load", "xz has no load sweep"},
		{"/api/v1/predict?target=web&corunner=xz&load=fast", 400, "load", "want requests per second"},
		{"/api/v1/predict?target=web&corunner=xz&load=wep=3", 400, "load", "did you mean web?"},
		{"/api/v1/predict?target=web&corunner=xz&maxP99=2ms", 400, "load", "want the load of web"},
		{"/api/v1/predict?target=web&corunner=xz&load=3&maxP99=-2ms", 400, "maxP99", "want a duration"},
		{"/api/v1/predict?target=web&load=3", 400, "corunner", "is missing"},
		{"/api/v1/predict?target=web&corunner=xz&load=3" + strings.Repeat("&load=3", mostDemands), 400, "load", "at most 8"},
		{"/api/v1/predict?target=xz&load=web=3" + strings.Repeat("&corunner=web", mostServices), 200, "", `"corunnerServices": {`},
		{"/api/v1/predict?target=web&load=3&load=web=3" + strings.Repeat("&corunner=web", mostServices), 400, "load", "17 instances of services: want at most 16"},
		{"/api/v1/matrix?limit=1&corunnerOffset=3", 200, "", `"total": 4`},
		{"/api/v1/matrix?limit=0", 400, "limit", "from 1 to 200"},
		{"/api/v1/matrix?limit=201", 400, "limit", "from 1 to 200"},
		{"/api/v1/matrix?offset=-1", 400, "offset", "whole number"},
		{"/api/v1/matrix?offset=99999999999999999999", 400, "offset", "whole number"},
		{"/api/v1/matrix?offset=1000", 200, "", `"targets": []`},
		{"/api/v1/matrix?machine=nowhere", 404, "machine", "no application was measured there"},
		{"/api/v1/predict?target=triad&corunner=triadd", 404, "corunner", "did you mean triad?"},
		{"/api/v1/applications?search=TRI", 200, "", `"total": 1`},
		{"/api/v1/applications?machine=elsewhere", 200, "", `"applications": []`},
		{"/api/v1/machines", 200, "", "one is broken"},
		{"/api/v1/machines?limit=1", 400, "limit", "no such parameter: this path takes none"},
		{"/api/v1", 404, "", "openapi.json"},
		{"/api/v1/predict/", 404, "", "openapi.json"},
		{"/../etc/passwd", 404, "", "no such path"},
		{"/%00", 400, "", "no text"},
	} {
		answer := get(t, h, tt.target)
		body := bodyOf(t, answer)
		shown := tt.target[:min(len(tt.target), 90)]
		if answer.StatusCode != tt.status || !strings.Contains(body, tt.says) {
			t.Errorf("%s: %d, want %d and %q: %s", shown, answer.StatusCode, tt.status, tt.says, body)
		}
		if tt.status < 400 {
			continue
		}
		var r refusal
		if err := json.Unmarshal([]byte(body), &r); err != nil || len(r.Errors) == 0 || r.Errors[0].Field != tt.field {
			t.Errorf("%s: field %+v, want %q (%v)", shown, r.Errors, tt.field, err)
		}
		if strings.Contains(body, "want at most") && strings.Contains(body, "is missing") {
			t.Errorf("%s: what was given too often is missing: %s", shown, body)
		}
	}
}

func TestHeaders(t *testing.T) {
	h := newTestHandler(t, newFake())
	for _, target := range []string{"/", "/healthz", "/nothing", "/api/v1/predict?target=triad&corunner=xz", "/favicon.ico"} {
		answer := get(t, h, target)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", target, name, got, want)
			}
		}
		policy := answer.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", target, policy)
		}
		if answer.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: pages elsewhere may read it", target)
		}
	}
	if policy := get(t, h, "/").Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, page.Policy(true)) {
		t.Errorf("the page's policy is %q", policy)
	}
}

func TestHosts(t *testing.T) {
	h := newTestHandler(t, newFake())
	for host, want := range map[string]int{
		"localhost": 200, "localhost:1": 200, "LOCALHOST:8765": 200, "localhost.": 200, "127.0.0.1:8765": 200, "[::1]:8765": 200, "::1": 200, "[::1]": 200, "192.0.2.7:80": 200,
		"bandmate.example.org": 200, "Bandmate.Example.Org:8765": 200,
		"evil.example": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example:8765": 421, "": 421, "127.1": 421, "evil.example:127.0.0.1": 421,
	} {
		r := httptest.NewRequest(http.MethodGet, "/healthz", http.NoBody)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("host %q: %d, want %d: %s", host, w.Code, want, w.Body)
		}
	}
}

func TestMethodsAndBodies(t *testing.T) {
	h := newTestHandler(t, newFake())
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodTrace, "BREW"} {
		r := httptest.NewRequest(method, "http://localhost/healthz", http.NoBody)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, allowed %q", method, w.Code, w.Header().Get("Allow"))
		}
	}
	r := httptest.NewRequest(http.MethodGet, "http://localhost/healthz", strings.NewReader("{}"))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body: %d", w.Code)
	}
}

func TestTagsAndCompression(t *testing.T) {
	h := newTestHandler(t, newFake())
	plain := get(t, h, "/")
	html, tag := bodyOf(t, plain), plain.Header.Get("ETag")
	if tag == "" || plain.Header.Get("Content-Encoding") != "" || plain.Header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("headers %v", plain.Header)
	}
	packed := get(t, h, "/", "Accept-Encoding", "br, gzip;q=0.8")
	unpacked, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := io.ReadAll(unpacked); err != nil || string(again) != html || packed.Header.Get("ETag") != tag {
		t.Errorf("compressed it is another page: %v", err)
	}
	for _, refused := range []string{"", "br", "gzip;q=0", "gzip; q=0.0, *", "identity"} {
		if got := get(t, h, "/", "Accept-Encoding", refused).Header.Get("Content-Encoding"); got != "" {
			t.Errorf("Accept-Encoding %q: sent %s", refused, got)
		}
	}
	for _, list := range []string{tag, `"other", ` + tag, strings.TrimPrefix(tag, "W/"), "*"} {
		if answer := get(t, h, "/", "If-None-Match", list); answer.StatusCode != http.StatusNotModified || bodyOf(t, answer) != "" {
			t.Errorf("If-None-Match %s: %d", list, answer.StatusCode)
		}
	}
	if answer := get(t, h, "/", "If-None-Match", `"other"`); answer.StatusCode != http.StatusOK {
		t.Errorf("another tag: %d", answer.StatusCode)
	}
}

func TestHostileTextsStayText(t *testing.T) {
	h := newTestHandler(t, newFake())
	for _, target := range []string{"/", "/api/v1/applications", "/api/v1/matrix"} {
		if body := bodyOf(t, get(t, h, target)); strings.Contains(body, "<img") || !strings.Contains(body, `\u003cimg`) {
			t.Errorf("%s: markup is not escaped, or not there", target)
		}
	}
}

func TestSourceThatFails(t *testing.T) {
	h := newTestHandler(t, &fake{err: errors.New("no such cluster")})
	for _, target := range []string{"/", "/api/v1/predict?target=triad&corunner=xz", "/api/v1/machines"} {
		answer := get(t, h, target)
		if body := bodyOf(t, answer); answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" || !strings.Contains(body, "no such cluster") {
			t.Errorf("%s: %d %s", target, answer.StatusCode, body)
		}
	}
	if answer := get(t, h, "/healthz"); answer.StatusCode != http.StatusOK {
		t.Errorf("the server runs, and says %d", answer.StatusCode)
	}
}

// Of many that ask at a time a few are computed, and who goes away does not keep
// a turn.
func TestTurns(t *testing.T) {
	began, goOn := make(chan struct{}, 1000), make(chan struct{})
	made, err := NewHandler(newFake(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := made.(*handler)
	turns := cap(h.turns)
	var all sync.WaitGroup
	statuses := make(chan int, 100)
	ask := func(ctx context.Context) {
		all.Go(func() {
			_, err := h.compute(ctx, func(context.Context, *advisor.Advisor) (any, error) {
				began <- struct{}{}
				<-goOn
				return nil, nil
			})
			if err != nil {
				statuses <- problemOf(err).status
				return
			}
			statuses <- http.StatusOK
		})
	}
	for range turns {
		ask(t.Context())
		<-began
	}
	gone, leave := context.WithCancel(t.Context())
	ask(gone)
	leave()
	if got := <-statuses; got != http.StatusServiceUnavailable {
		t.Errorf("one that went away: %d", got)
	}
	if got := get(t, h, "/healthz").StatusCode; got != http.StatusOK {
		t.Errorf("health waits for a turn: %d", got)
	}
	if len(began) > 0 {
		t.Error("more are computed than there are turns")
	}
	close(goOn)
	all.Wait()
	for range turns {
		if got := <-statuses; got != http.StatusOK {
			t.Errorf("one that had its turn: %d", got)
		}
	}
}

// A question that takes too long is given up, so that others have their turn.
func TestLongestComputing(t *testing.T) {
	made, err := NewHandler(newFake(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := made.(*handler)
	h.longest = time.Millisecond
	_, err = h.compute(t.Context(), func(ctx context.Context, _ *advisor.Advisor) (any, error) {
		<-ctx.Done()
		return nil, fmt.Errorf("half way: %w", ctx.Err())
	})
	if err == nil || problemOf(err).status != http.StatusServiceUnavailable || !strings.Contains(err.Error(), "ask about fewer applications") {
		t.Error(err)
	}
	if len(h.turns) > 0 {
		t.Error("it keeps its turn")
	}
}

// A page whose rendering crashed is no empty page for those who ask later.
func TestPageThatCrashes(t *testing.T) {
	made, err := NewHandler(nobody{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ask := func() (answer *http.Response) {
		defer func() { _ = recover() }() // as the HTTP server does
		return get(t, made, "/")
	}
	for range 2 {
		if answer := ask(); answer != nil {
			t.Errorf("answered %d", answer.StatusCode)
		}
	}
}

// nobody is a source without profiles, which no page can be made of.
type nobody struct{}

func (nobody) Now(context.Context) (*advisor.Advisor, error) { return nil, nil }

// FuzzRequest holds that whatever is asked, the answer is a whole one: no server
// error, no crash, JSON where it is not the page, and the error format.
func FuzzRequest(f *testing.F) {
	for _, target := range []string{
		"/", "/healthz", "/api/v1/predict?target=triad&corunner=xz&explain=true", "/api/v1/matrix?offset=1&limit=2",
		"/api/v1/applications?search=x", "/api/v1/openapi.json", "//evil", "/%2e%2e/x?\x00=%00",
	} {
		f.Add(http.MethodGet, target, "localhost", "gzip;q=1", `W/"x"`)
	}
	f.Add(http.MethodPost, "/api/v1/predict", "[::1", "*;q=", "*")
	h := newTestHandler(f, newFake())
	f.Fuzz(func(t *testing.T, method, target, host, encoding, tags string) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost/", http.NoBody)
		if err != nil {
			return
		}
		path, rawQuery, _ := strings.Cut(target, "?")
		r.URL.Path, r.URL.RawQuery, r.Host = path, rawQuery, host
		r.Header.Set("Accept-Encoding", encoding)
		r.Header.Set("If-None-Match", tags)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		body := w.Body.Bytes()
		switch {
		case w.Code >= 500:
			t.Errorf("%s %q: %d %s", method, target, w.Code, body)
		case w.Code >= 400 && method != http.MethodHead:
			var said refusal
			if err := json.Unmarshal(body, &said); err != nil || len(said.Errors) == 0 || said.Errors[0].Message == "" {
				t.Errorf("%s %q: %d with %s", method, target, w.Code, body)
			}
		case w.Code == http.StatusOK && w.Header().Get("Content-Encoding") == "" && path != "/" && !json.Valid(body):
			t.Errorf("%q: no JSON: %s", target, body)
		}
	})
}
