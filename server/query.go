package server

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/service"
)

// Bounds of a request.
const (
	longestQuery     = 16 << 10 // bytes
	longestText      = 256      // bytes of a parameter
	mostCorunners    = 64
	mostApplications = 64
	mostDemands      = 8 // each takes some dozen predictions
	mostServices     = 16
	highestOffset    = 1 << 30
)

// query reads the parameters of a request and collects their faults.
type query struct {
	values url.Values
	read   map[string]bool
	faults []*Fault
}

func newQuery(r *http.Request) (*query, error) {
	if len(r.URL.RawQuery) > longestQuery {
		return nil, problemf(http.StatusRequestURITooLong, "the query has %d bytes: want at most %d", len(r.URL.RawQuery), longestQuery)
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, problemf(http.StatusBadRequest, "the query cannot be read: %w: write names as by encodeURIComponent", err)
	}
	return &query{values: values, read: map[string]bool{}}, nil
}

func (q *query) refuse(field, format string, args ...any) {
	q.faults = append(q.faults, faultf(field, format, args...))
}

// texts returns the values of a parameter that may be given up to most times.
func (q *query) texts(field string, most int) []string {
	q.read[field] = true
	values := q.values[field]
	if len(values) > most {
		q.refuse(field, "given %d times: want at most %d", len(values), most)
		return nil
	}
	for _, v := range values {
		switch {
		case v == "":
			q.refuse(field, "is empty: leave it out, or give a name")
		case len(v) > longestText:
			q.refuse(field, "has %d bytes: want at most %d", len(v), longestText)
		case !utf8.ValidString(v):
			q.refuse(field, "is no valid UTF-8")
		}
	}
	return values
}

// text returns the value of a parameter; empty where it is not given.
func (q *query) text(field string) string {
	if values := q.texts(field, 1); len(values) == 1 {
		return values[0]
	}
	return ""
}

// number returns a whole number from low to high.
func (q *query) number(field string, otherwise, low, high int) int {
	text := q.text(field)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		q.refuse(field, "%q: want a whole number from %d to %d", text, low, high)
		return otherwise
	}
	return n
}

func (q *query) boolean(field string) bool {
	switch text := q.text(field); text {
	case "", "false":
		return false
	case "true":
		return true
	default:
		q.refuse(field, "%q: want true or false", text)
		return false
	}
}

func (q *query) method() predictor.Method {
	m, err := predictor.ParseMethod(q.text("method"))
	if err != nil {
		q.faults = append(q.faults, &Fault{"method", err})
	}
	return m
}

// window reads an offset and a limit.
func (q *query) window(offset, limit string, usual, most int) Window {
	return Window{q.number(offset, 0, 0, highestOffset), q.number(limit, usual, 1, most)}
}

// err returns every fault at once, including unknown parameters.
func (q *query) err() error {
	for _, field := range slices.Sorted(maps.Keys(q.values)) {
		switch {
		case q.read[field]:
		case len(q.read) == 0:
			q.refuse(field, "no such parameter: this path takes none")
		default:
			q.refuse(field, "no such parameter: want some of %s", strings.Join(slices.Sorted(maps.Keys(q.read)), ", "))
		}
	}
	if len(q.faults) == 0 {
		return nil
	}
	return &problem{http.StatusBadRequest, q.faults}
}

// Parameters of the paths; openapi.go describes them.
const (
	usualLimit = 100
	mostListed = 1000
	usualCells = 50  // rows and columns of the matrix
	mostCells  = 200 // rows and columns
)

func readQuestion(q *query) (Question, error) {
	question := Question{
		Target: q.text("target"), Corunners: q.texts("corunner", mostCorunners), Machine: q.text("machine"),
		Method: q.method(), Explain: q.boolean("explain"),
	}
	if len(q.values["target"]) == 0 {
		q.refuse("target", "is missing: name the target application")
	}
	if len(q.values["corunner"]) == 0 {
		q.refuse("corunner", "is missing: name one neighbor or several")
	}
	if len(q.faults) > 0 {
		q.texts("load", mostDemands)
		q.texts("maxP99", mostDemands)
		return question, q.err() // names are needed to read the rest
	}
	question.Demands = q.demands(append([]string{question.Target}, question.Corunners...))
	loaded := 0
	for _, d := range question.Demands {
		if d.Load > 0 {
			loaded++
		}
	}
	if loaded > mostServices {
		q.refuse("load", "is said of %d instances of services: want at most %d", loaded, mostServices)
	}
	return question, q.err()
}

// demands reads the loads and the limits of services.
func (q *query) demands(names []string) []service.Demand {
	loads, err := service.ParseLoads(q.texts("load", mostDemands), names)
	if err != nil {
		q.faults = append(q.faults, &Fault{"load", err})
	}
	limits, err := service.ParseMaxP99s(q.texts("maxP99", mostDemands), names)
	if err != nil {
		q.faults = append(q.faults, &Fault{"maxP99", err})
	}
	if loads == nil || limits == nil {
		return nil
	}
	demands, err := service.Demands(names, loads, limits)
	if err != nil {
		q.faults = append(q.faults, &Fault{"load", err})
	}
	return demands
}

func readMatrixQuestion(q *query) (MatrixQuestion, error) {
	question := MatrixQuestion{
		Applications: q.texts("application", mostApplications), Machine: q.text("machine"), Method: q.method(),
		Rows:    q.window("offset", "limit", usualCells, mostCells),
		Columns: q.window("corunnerOffset", "corunnerLimit", usualCells, mostCells),
	}
	return question, q.err()
}

// checkRequest refuses other methods, bodies and malformed paths.
func checkRequest(r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return problemf(http.StatusMethodNotAllowed, "method %q: want GET or HEAD", r.Method)
	}
	if r.ContentLength != 0 || len(r.TransferEncoding) > 0 {
		return &problem{http.StatusRequestEntityTooLarge, []*Fault{{Err: errors.New("the request has a body: want none")}}}
	}
	if !utf8.ValidString(r.URL.Path) || strings.Contains(r.URL.Path, "\x00") {
		return &problem{http.StatusBadRequest, []*Fault{{Err: fmt.Errorf("the path %q is no text", r.URL.Path)}}}
	}
	return nil
}

// checkHost accepts requests for localhost, IP addresses and the given names only.
// A malicious page can resolve its own name to a loopback address (DNS rebinding), but
// the browser still sends that name.
func checkHost(r *http.Request, names []string) error {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || slices.Contains(names, host) {
		return nil
	}
	if _, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")); err == nil {
		return nil
	}
	return problemf(http.StatusMisdirectedRequest, "host %q: this server answers for localhost and addresses only: ask there, or start it with --allow-host", r.Host)
}
