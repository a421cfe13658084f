package advise

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli/clitest"
	"bandmate.dev/bandmate/server"
)

// FuzzServe asks for predictions by whatever names, methods and machines: each is
// answered by what was asked, or refused for the asker's fault.
func FuzzServe(f *testing.F) {
	dir := f.TempDir()
	for i, name := range []string{"a", "b", "c", "d"} {
		file := filepath.Join(dir, "applications", name+"@here.yaml")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			f.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(clitest.MeasuredProfile(name, i+1)), 0o644); err != nil {
			f.Fatal(err)
		}
	}
	source, _, err := serveFrom((&cli.App{StoreDir: dir}), clusterSource{})
	if err != nil {
		f.Fatal(err)
	}
	handler, err := server.NewHandler(source, server.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("predict", "a", "b", "", "default", "true")
	f.Add("matrix", "a", "d", "here", "memgen", "2")
	f.Add("predict", "a", "nobody", "elsewhere", "", "")
	f.Add("applications", "<b>", "\u202e", "\x00", "%", "&")
	f.Fuzz(func(t *testing.T, path, first, second, machine, method, more string) {
		values := url.Values{}
		add := func(key, value string) {
			if value != "" {
				values.Add(key, value)
			}
		}
		switch path {
		case "predict":
			add("target", first)
			add("corunner", second)
			add("explain", more)
		case "matrix":
			add("application", first)
			add("application", second)
			add("limit", more)
		default:
			path = "applications"
			add("search", first)
			add("offset", more)
		}
		add("machine", machine)
		if path != "applications" {
			add("method", method)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/"+path+"?"+values.Encode(), http.NoBody))
		if !json.Valid(w.Body.Bytes()) || w.Code >= 500 {
			t.Errorf("%s: %d %s", values.Encode(), w.Code, w.Body)
		}
		if w.Code == http.StatusOK && strings.ContainsAny(w.Body.String(), "<>\u202e") {
			t.Errorf("%s: markup in %s", values.Encode(), w.Body)
		}
	})
}
