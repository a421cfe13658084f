// Package clustertest is an API server in memory for tests. It implements the part
// of the protocol that Bandmate uses; end-to-end tests use a real API server.
package clustertest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TB is the part of testing.TB that New uses.
type TB interface {
	// Helper marks the caller as a helper.
	Helper()
	// Cleanup registers a function for the end of the test.
	Cleanup(func())
	// Fatal ends the test.
	Fatal(...any)
	// TempDir returns a folder that the end of the test removes.
	TempDir() string
}

// Object is an object as JSON.
type Object = map[string]any

// Server holds objects by collection, as "apis/bandmate.dev/v1alpha1/machineprofiles",
// and by name, as "NAME" or "NAMESPACE/NAME".
type Server struct {
	// Kubeconfig is the file with which clients find the server.
	Kubeconfig string

	mu      sync.Mutex
	objects map[string]map[string]Object
	refuse  map[string]metav1.Status
	version int
}

// Collections of the objects that Bandmate uses.
const (
	Applications = "apis/bandmate.dev/v1alpha1/applicationprofiles"
	Machines     = "apis/bandmate.dev/v1alpha1/machineprofiles"
	Nodes        = "api/v1/nodes"
	Pods         = "api/v1/pods"
	Events       = "api/v1/events"
)

// New starts a server with the given collections, which ends with the test.
func New(t TB, collections ...string) *Server {
	t.Helper()
	s := &Server{objects: map[string]map[string]Object{}, refuse: map[string]metav1.Status{}}
	for _, c := range collections {
		s.objects[c] = map[string]Object{}
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.Kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: %q}}]
users: [{name: test, user: {}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
current-context: test
`, server.URL)
	if err := os.WriteFile(s.Kubeconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// Add puts objects, each of them a YAML document, into a collection.
func (s *Server) Add(collection string, documents ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range documents {
		var o Object
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			return err
		}
		meta := metadata(o)
		key, _ := meta["name"].(string)
		if namespace, ok := meta["namespace"].(string); ok {
			key = namespace + "/" + key
		}
		meta["generation"] = 1
		if s.objects[collection] == nil {
			return fmt.Errorf("no collection %q", collection)
		}
		s.keep(collection, key, o)
	}
	return nil
}

// Object returns an object; nil without one.
func (s *Server) Object(collection, name string) Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[collection][name]
}

// Names returns the names of a collection, sorted.
func (s *Server) Names(collection string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objects[collection]))
}

// Refuse answers every request of a method, such as PATCH, to a collection with a
// status.
func (s *Server) Refuse(method, collection string, status metav1.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse[method+" "+collection] = status
}

// Accept undoes Refuse.
func (s *Server) Accept(method, collection string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.refuse, method+" "+collection)
}

// ServeHTTP answers as an API server does.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") != "" {
		s.watch(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	code, body := s.answer(r)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// The client notices a cut answer.
	_ = json.NewEncoder(w).Encode(body)
}

func (s *Server) answer(r *http.Request) (int, any) {
	collection, name := s.find(strings.Trim(r.URL.Path, "/"))
	if collection == "" {
		return failure(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
	}
	if status, ok := s.refuse[r.Method+" "+collection]; ok {
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		status.Status = metav1.StatusFailure
		return int(status.Code), status
	}
	o := s.objects[collection][name]
	switch {
	case r.Method == http.MethodGet && name == "":
		return http.StatusOK, s.list(collection, r)
	case r.Method == http.MethodPatch:
		return s.patch(collection, name, r)
	case o == nil:
		return missing(name)
	case r.Method == http.MethodGet:
		return http.StatusOK, o
	case r.Method == http.MethodDelete:
		delete(s.objects[collection], name)
		return http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess}
	}
	return failure(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, r.Method)
}

// watch reports the objects of a collection, where the client asks for them first, and
// no change of them, until the client leaves.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		for _, event := range s.initialEvents(r) {
			// The client notices a cut answer.
			_ = json.NewEncoder(w).Encode(event)
		}
	}
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// initialEvents are the objects that there are, and the mark of their end.
func (s *Server) initialEvents(r *http.Request) []Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	collection, _ := s.find(strings.Trim(r.URL.Path, "/"))
	list := s.list(collection, r)
	var events []Object
	kind := "Status"
	for _, item := range list["items"].([]any) { //nolint:errcheck,forcetypeassert // list made it
		o, _ := merge(nil, item).(Object) // a copy, which changes leave alone
		kind, _ = o["kind"].(string)
		events = append(events, Object{"type": "ADDED", "object": o})
	}
	return append(events, Object{"type": "BOOKMARK", "object": Object{
		"apiVersion": list["apiVersion"], "kind": kind,
		"metadata": Object{
			"resourceVersion": strconv.Itoa(s.version),
			"annotations":     Object{metav1.InitialEventsAnnotationKey: "true"},
		},
	}})
}

// find splits a path; a namespace in it becomes part of the name.
func (s *Server) find(path string) (collection, name string) {
	parts := strings.Split(path, "/")
	group := 2 // api/v1
	if parts[0] == "apis" {
		group = 3
	}
	namespace := ""
	if len(parts) > group+2 && parts[group] == "namespaces" {
		namespace = parts[group+1] + "/"
		parts = append(slices.Clone(parts[:group]), parts[group+2:]...)
	}
	if len(parts) <= group {
		return "", ""
	}
	collection = strings.Join(parts[:group+1], "/")
	if s.objects[collection] == nil {
		return "", ""
	}
	if len(parts) > group+1 {
		name = namespace + parts[group+1]
	}
	return collection, name
}

// list pages by limit and continue, and obeys field selectors of one equality.
func (s *Server) list(collection string, r *http.Request) Object {
	query := r.URL.Query()
	names := slices.Sorted(maps.Keys(s.objects[collection]))
	from, _ := strconv.Atoi(query.Get("continue"))
	limit, _ := strconv.Atoi(query.Get("limit"))
	items := []any{}
	next := ""
	for i, name := range names[min(from, len(names)):] {
		if limit > 0 && i == limit {
			next = strconv.Itoa(from + i)
			break
		}
		if o := s.objects[collection][name]; selected(o, query.Get("fieldSelector")) {
			items = append(items, o)
		}
	}
	kind := "List"
	if len(items) > 0 {
		if k, ok := items[0].(Object)["kind"].(string); ok {
			kind = k + "List"
		}
	}
	version := strings.TrimPrefix(strings.TrimPrefix(collection[:strings.LastIndex(collection, "/")], "apis/"), "api/")
	return Object{"apiVersion": version, "kind": kind, "items": items, "metadata": Object{"resourceVersion": strconv.Itoa(s.version), "continue": next}}
}

func selected(o Object, selector string) bool {
	path, want, ok := strings.Cut(selector, "=")
	if !ok {
		return true
	}
	var value any = o
	for part := range strings.SplitSeq(path, ".") {
		fields, _ := value.(Object)
		value = fields[part]
	}
	return value == want
}

// patch merges a change; server-side apply may create the object.
func (s *Server) patch(collection, name string, r *http.Request) (int, any) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return failure(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
	}
	var change Object
	if err := yaml.Unmarshal(data, &change); err != nil {
		return failure(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
	}
	before, code := s.objects[collection][name], http.StatusOK
	switch {
	case before != nil:
	case strings.Contains(r.Header.Get("Content-Type"), "apply-patch"):
		code = http.StatusCreated
	default:
		return missing(name)
	}
	after, _ := merge(before, change).(Object)
	generation, _ := number(metadata(before)["generation"])
	if before == nil || !reflect.DeepEqual(before["spec"], after["spec"]) {
		generation++
	}
	metadata(after)["generation"] = generation
	if r.URL.Query().Get("dryRun") == "" {
		s.keep(collection, name, after)
	}
	return code, after
}

func number(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case float64:
		return int(v), true
	}
	return 0, false
}

// merge is the JSON merge patch of RFC 7386; it changes neither argument.
func merge(into, change any) any {
	fields, ok := change.(Object)
	if !ok {
		return change
	}
	old, _ := into.(Object)
	merged := Object{}
	maps.Copy(merged, old)
	for key, value := range fields {
		if value == nil {
			delete(merged, key)
			continue
		}
		merged[key] = merge(old[key], value)
	}
	return merged
}

func (s *Server) keep(collection, name string, o Object) {
	s.version++
	metadata(o)["resourceVersion"] = strconv.Itoa(s.version)
	s.objects[collection][name] = o
}

// metadata returns the metadata of an object, made if needed.
func metadata(o Object) Object {
	meta, ok := o["metadata"].(Object)
	if !ok {
		meta = Object{}
		if o != nil {
			o["metadata"] = meta
		}
	}
	return meta
}

func missing(name string) (int, any) {
	code, status := failure(http.StatusNotFound, metav1.StatusReasonNotFound, cmp.Or(name, "it")+" not found")
	status.Details = &metav1.StatusDetails{Name: name}
	return code, status
}

func failure(code int32, reason metav1.StatusReason, message string) (int, *metav1.Status) {
	return int(code), &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}
}
