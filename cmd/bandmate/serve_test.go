package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"bandmate.dev/bandmate/cmd/bandmate/internal/advise"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli/clitest"
	"bandmate.dev/bandmate/cmd/bandmate/internal/processtest"
	"bandmate.dev/bandmate/store/cluster/clustertest"
)

// live is `bandmate serve` in a process of its own.
type live struct {
	*processtest.Program

	url string
}

func startServe(t *testing.T, args ...string) live {
	t.Helper()
	p := processtest.Prepare(t, "bandmate", append([]string{"serve", "--listen", "127.0.0.1:0", "-o", "json"}, args...)...)
	return waitForServe(p.Start())
}

func waitForServe(p *processtest.Program) live {
	p.T.Helper()
	var said advise.Serving
	processtest.Eventually(p.T, "bandmate serve to listen: "+p.Stderr.String(), func() bool {
		return json.Unmarshal([]byte(p.Stdout.String()), &said) == nil
	})
	return live{p, said.URL}
}

// ask returns the status and the body of an answer.
func (l live) ask(path string) (status int, body string) {
	l.T.Helper()
	r, err := http.Get(l.url + path)
	if err != nil {
		l.T.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		l.T.Fatal(err)
	}
	return r.StatusCode, string(text)
}

func (l live) want(path string, status int, fragments ...string) {
	l.T.Helper()
	got, body := l.ask(path)
	if got != status {
		l.T.Errorf("%s: %d, want %d: %s", path, got, status, body)
	}
	for _, fragment := range fragments {
		if !strings.Contains(body, fragment) {
			l.T.Errorf("%s: no %q in %s", path, fragment, body)
		}
	}
}

func (l live) end(s syscall.Signal) {
	l.T.Helper()
	l.Signal(s)
	l.WantExit(0)
}

func putMeasured(t *testing.T, store, name string, number int) {
	t.Helper()
	processtest.WriteFile(t, filepath.Join(store, "applications", name+"@here.yaml"), clitest.MeasuredProfile(name, number))
}

// What the server says is what the commands print, to the byte where both say it,
// and follows the store.
func TestServeSaysWhatPredictSays(t *testing.T) {
	store := processtest.StoreWith(t)
	l := startServe(t, "--store", store)
	l.want("", 200, "No applications yet")
	l.want("api/v1/applications", 200, `"applications": []`)
	l.want("api/v1/matrix", 200, `"targets": []`, `"slowdowns": []`)
	l.want("api/v1/predict?target=a&corunner=b", 404, `"field": "target"`)
	l.want("api/v1/machines", 200, `"name": "here"`)

	same := func(names ...string) {
		t.Helper()
		p := processtest.Bandmate(t, append([]string{"predict", "-o", "json", "--store", store}, names...)...)
		p.WantExit(0)
		values := url.Values{"target": names[:1], "corunner": names[1:]}
		if status, body := l.ask("api/v1/predict?" + values.Encode()); status != 200 || body != p.Stdout.String() {
			t.Errorf("%v: %d\n%s\nwant\n%s", names, status, body, &p.Stdout)
		}
	}
	putMeasured(t, store, "a", 1)
	same("a", "a")
	for i, name := range []string{"b", "c", "d"} {
		putMeasured(t, store, name, i+2)
	}
	same("a", "b", "c", "d") // now by the model of the memory
	same("d", "a")
	putMeasured(t, store, "a", 5)
	same("a", "b")

	p := processtest.Bandmate(t, "matrix", "-o", "json", "--store", store)
	p.WantExit(0)
	var printed, sent advise.MatrixResult
	status, body := l.ask("api/v1/matrix")
	if err := json.Unmarshal([]byte(body), &sent); err != nil || status != 200 {
		t.Fatalf("%d, %v: %s", status, err, body)
	}
	if err := json.Unmarshal([]byte(p.Stdout.String()), &printed); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(sent.Slowdowns, sent.Basis, sent.Method) != fmt.Sprint(printed.Slowdowns, printed.Basis, printed.Method) {
		t.Errorf("the matrix sent is\n%+v\nwant\n%+v", sent, printed)
	}

	// One that is broken among good ones is named and hides none; one that is gone
	// is gone.
	processtest.WriteFile(t, filepath.Join(store, "applications", "broken@here.yaml"), "kind: Pod")
	l.want("api/v1/applications", 200, `"total": 4`, "broken@here.yaml")
	l.want("api/v1/matrix?limit=1&corunnerLimit=1", 200, `"total": 4`, "broken@here.yaml")
	l.want("", 200, "broken@here.yaml")
	if err := os.Remove(filepath.Join(store, "applications", "b@here.yaml")); err != nil {
		t.Fatal(err)
	}
	l.want("api/v1/predict?target=a&corunner=b", 404, `"field": "corunner"`, "no such profile")
	l.end(syscall.SIGTERM)
	l.WantNobody()
}

func TestServeRefuses(t *testing.T) {
	store := processtest.StoreWith(t)
	first := startServe(t, "--store", store)
	taken := strings.TrimSuffix(strings.TrimPrefix(first.url, "http://"), "/")
	processtest.Bandmate(t, "serve", "--store", store, "--listen", taken).WantExit(cli.ExitFailed, "--listen "+taken+": address already in use", "choose another one")
	first.end(syscall.SIGINT)
	again := waitForServe(processtest.Prepare(t, "bandmate", "serve", "--store", store, "--listen", taken, "-o", "json").Start())
	again.end(syscall.SIGTERM)
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0"} {
		processtest.Bandmate(t, "serve", "--store", store, "--listen", address).WantExit(cli.ExitUsage, "is not a loopback address", "--allow-remote")
	}
	processtest.Bandmate(t, "serve", "--store", store, "--listen", "nonsense").WantExit(cli.ExitUsage, "127.0.0.1:8080")
	processtest.Bandmate(t, "serve", "--store", store, "--listen", "127.0.0.1:99999").WantExit(cli.ExitUsage, "99999")
	processtest.Bandmate(t, "serve", "--store", store, "--listen", "192.0.2.1:0", "--allow-remote").WantExit(cli.ExitFailed, "no interface")
	processtest.Bandmate(t, "serve", "--store", "/dev/null").WantExit(cli.ExitFailed, "not a folder")
	processtest.Bandmate(t, "serve", "extra").WantExit(cli.ExitUsage, "no arguments")
	processtest.Bandmate(t, "serve", "-o", "csv").WantExit(cli.ExitUsage, "want one of")
	processtest.Bandmate(t, "serve", "--cluster", "--kubeconfig", "none").WantExit(cli.ExitFailed, "which cluster?", "--kubeconfig")
}

// Under nohup the end of the terminal does not end it.
func TestServeWithoutHangup(t *testing.T) {
	l := waitForServe(processtest.Prepare(t, "sh", "-c", `trap "" HUP; exec bandmate serve --listen 127.0.0.1:0 -o json --store "$0"`, processtest.StoreWith(t)).Start())
	l.Signal(syscall.SIGHUP)
	for range 50 {
		l.want("", 200, "No applications yet")
	}
	l.end(syscall.SIGTERM)
}

func TestServeFromCluster(t *testing.T) {
	cluster := clustertest.New(t, clustertest.Applications, clustertest.Machines)
	add := func(name string, number int) {
		t.Helper()
		if err := cluster.Add(clustertest.Applications, clitest.MeasuredProfile(name, number)); err != nil {
			t.Fatal(err)
		}
	}
	add("a", 1)
	l := startServe(t, "--cluster", "--kubeconfig", cluster.Kubeconfig)
	l.want("api/v1/predict?target=a&corunner=a", 200, `"basis": "curves"`)
	add("b", 2)
	processtest.Eventually(t, "what was applied to the cluster", func() bool {
		status, _ := l.ask("api/v1/predict?target=a&corunner=b")
		return status == 200
	})
	l.end(syscall.SIGTERM)
}

// Thousands of requests, from many at a time and beside clients that do nothing,
// while profiles come and go: every one is answered, and rightly.
func TestServeUnderLoad(t *testing.T) {
	store := processtest.StoreWith(t)
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		putMeasured(t, store, name, i+1)
	}
	l := startServe(t, "--store", store)
	address := strings.TrimSuffix(strings.TrimPrefix(l.url, "http://"), "/")
	for range 50 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: loc")
	}
	paths := []string{"", "healthz", "api/v1/predict?target=a&corunner=b&corunner=c", "api/v1/matrix?limit=3", "api/v1/applications", "api/v1/machines", "api/v1/openapi.json"}
	const asking, each = 20, 100
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: asking}}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	for i := range asking {
		all.Go(func() {
			for j := range each {
				r, err := client.Get(l.url + paths[(i+j)%len(paths)])
				if err != nil {
					t.Error(err)
					return
				}
				_, err = io.Copy(io.Discard, r.Body)
				r.Body.Close()
				if err != nil || r.StatusCode != http.StatusOK {
					t.Errorf("%s: %d, %v", r.Request.URL, r.StatusCode, err)
				}
			}
		})
	}
	for i := range 20 {
		putMeasured(t, store, "e", i%4+1)
	}
	all.Wait()
	l.end(syscall.SIGTERM)
}
