package server

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/report/page"
)

// Options say how to answer.
type Options struct {
	// Version is that of the program.
	Version string
	// Hosts are names, in lower case and without a port, that requests may be
	// addressed to beside localhost and addresses.
	Hosts []string
}

// Bounds of what is computed at a time.
const (
	// patience is how long a request waits for its turn.
	patience = 10 * time.Second
	// retryAfter is what one that had no turn is told, in seconds.
	retryAfter = "2"
)

// handler answers every request.
type handler struct {
	source  Source
	options Options
	turns   chan struct{} // as many as are computed at a time
	openAPI reply

	mu   sync.Mutex
	page *rendered
}

// openAPI describes the API, in OpenAPI 3.1. TestOpenAPI makes it from the types that
// are sent.
//
//go:embed openapi.json
var openAPI []byte

// NewHandler returns the handler of all requests, which answers from a source:
//
//	/                      the page of the report, with everything it needs
//	/healthz               whether the server runs
//	/api/v1/…              see openapi.json
//
// It answers GET and HEAD; errors are JSON: {"errors":[{"field","message"}]}.
func NewHandler(source Source, o Options) (http.Handler, error) {
	description, err := newReply(typeJSON, noContent, openAPI, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	return &handler{source: source, options: o, turns: make(chan struct{}, runtime.GOMAXPROCS(0)), openAPI: description}, nil
}

// paths are what is answered in JSON. What the advisor is asked waits for a turn.
var paths = map[string]func(*handler, context.Context, *query) (reply, error){
	"/healthz":             (*handler).healthz,
	"/api/v1/openapi.json": (*handler).describe,
	"/api/v1/predict":      (*handler).predict,
	"/api/v1/matrix":       (*handler).matrix,
	"/api/v1/applications": (*handler).applications,
	"/api/v1/machines":     (*handler).machines,
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	answer, err := h.answer(r)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	if answer.plain == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	answer.send(w, r)
}

func (h *handler) answer(r *http.Request) (reply, error) {
	if err := checkHost(r, h.options.Hosts); err != nil {
		return reply{}, err
	}
	if err := checkRequest(r); err != nil {
		return reply{}, err
	}
	q, err := newQuery(r)
	if err != nil {
		return reply{}, err
	}
	switch r.URL.Path {
	case "/":
		return h.showPage(r.Context())
	case "/favicon.ico":
		return reply{}, nil // browsers ask for it; there is none
	}
	path, ok := paths[r.URL.Path]
	if !ok {
		return reply{}, problemf(http.StatusNotFound, "nothing is at %q: see /api/v1/openapi.json for what there is", r.URL.Path)
	}
	return path(h, r.Context(), q)
}

func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	answer, err := newJSONReply(p.body())
	if err != nil {
		http.Error(w, "encoding the answer failed", http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", typeJSON)
	header.Set("Cache-Control", "no-store")
	switch p.status {
	case http.StatusMethodNotAllowed:
		header.Set("Allow", "GET, HEAD")
	case http.StatusServiceUnavailable:
		header.Set("Retry-After", retryAfter)
	}
	w.WriteHeader(p.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(answer.plain) // who went away is not there to be told
	}
}

func (h *handler) healthz(_ context.Context, q *query) (reply, error) {
	if err := q.err(); err != nil {
		return reply{}, err
	}
	return newJSONReply(health{"ok", h.options.Version})
}

func (h *handler) describe(_ context.Context, q *query) (reply, error) { return h.openAPI, q.err() }

func (h *handler) predict(ctx context.Context, q *query) (reply, error) {
	question, err := readQuestion(q)
	if err != nil {
		return reply{}, err
	}
	return h.compute(ctx, func(a *advisor.Advisor) (any, error) { return predict(a, question) })
}

func (h *handler) matrix(ctx context.Context, q *query) (reply, error) {
	question, err := readMatrixQuestion(q)
	if err != nil {
		return reply{}, err
	}
	return h.compute(ctx, func(a *advisor.Advisor) (any, error) { return predictMatrix(a, question) })
}

func (h *handler) applications(ctx context.Context, q *query) (reply, error) {
	search, machine, part := strings.ToLower(q.text("search")), q.text("machine"), q.window("offset", "limit", usualLimit, mostListed)
	if err := q.err(); err != nil {
		return reply{}, err
	}
	return h.compute(ctx, func(a *advisor.Advisor) (any, error) {
		all, warnings := applications(a)
		found := slices.DeleteFunc(all, func(a Application) bool {
			return !strings.Contains(strings.ToLower(a.Name), search) || machine != "" && a.Machine != machine
		})
		first, end := part.Of(len(found))
		return applicationList{found[first:end], len(found), part.Offset, warnings}, nil
	})
}

func (h *handler) machines(ctx context.Context, q *query) (reply, error) {
	if err := q.err(); err != nil {
		return reply{}, err
	}
	return h.compute(ctx, func(a *advisor.Advisor) (any, error) {
		list := machineList{Machines: []page.Machine{}, Warnings: messages(a.Broken())}
		for _, m := range a.Machines() {
			list.Machines = append(list.Machines, page.NewMachine(m))
		}
		return list, nil
	})
}

// compute answers from the profiles as they are now, when it is the request's turn.
func (h *handler) compute(ctx context.Context, question func(*advisor.Advisor) (any, error)) (reply, error) {
	a, err := h.now(ctx)
	if err != nil {
		return reply{}, err
	}
	turn, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case h.turns <- struct{}{}:
		defer func() { <-h.turns }()
	case <-turn.Done():
		return reply{}, problemf(http.StatusServiceUnavailable, "too many requests at a time: ask again in a moment")
	}
	answer, err := question(a)
	if err != nil {
		return reply{}, err
	}
	return newJSONReply(answer)
}

func (h *handler) now(ctx context.Context) (*advisor.Advisor, error) {
	a, err := h.source.Now(ctx)
	if err != nil {
		return nil, &problem{http.StatusServiceUnavailable, []*Fault{{Err: fmt.Errorf("the profiles cannot be read: %w", err)}}}
	}
	return a, nil
}

// rendered is the page of an advisor's profiles, made when first asked for.
type rendered struct {
	of   *advisor.Advisor
	once sync.Once
	page reply
	err  error
}

// showPage returns the page, which is made once while the profiles stay.
func (h *handler) showPage(ctx context.Context) (reply, error) {
	a, err := h.now(ctx)
	if err != nil {
		return reply{}, err
	}
	h.mu.Lock()
	if h.page == nil || h.page.of != a {
		h.page = &rendered{of: a}
	}
	p := h.page
	h.mu.Unlock()
	p.once.Do(func() { p.page, p.err = h.render(a) })
	return p.page, p.err
}

func (h *handler) render(a *advisor.Advisor) (reply, error) {
	content, err := page.Collect(a, nil, "")
	if err != nil {
		return reply{}, err
	}
	content.Generated, content.Version = time.Now(), h.options.Version
	data, err := page.NewData(content)
	if err != nil {
		return reply{}, err
	}
	data.Served = true
	var html bytes.Buffer
	if err := page.WriteData(&html, data); err != nil {
		return reply{}, err
	}
	return newReply(typeHTML, page.Policy(true)+"; frame-ancestors 'none'", html.Bytes(), gzip.DefaultCompression)
}
