package imports

import (
	"encoding/json"
	"fmt"
	"strings"
)

// perfObject is a line of `perf stat -j`, perf 6.1:
//
//	{"interval" : 0.209602100, "socket" : "S0", "aggregate-number" : 1,
//	 "counter-value" : "1083.382141", "unit" : "MiB",
//	 "event" : "uncore_imc_1/cas_count_read/", "event-runtime" : 221876673,
//	 "pcnt-running" : 100.00, "metric-value" : 0.000000, "metric-unit" : "(null)"}
//
// The count is a string, because it may be `<not supported>`.
type perfObject struct {
	Interval *float64        `json:"interval"`
	Socket   string          `json:"socket"`
	Die      string          `json:"die"`
	Cluster  string          `json:"cluster"`
	Cache    string          `json:"cache"`
	Core     string          `json:"core"`
	Node     string          `json:"node"`
	CPU      json.RawMessage `json:"cpu"`
	Thread   string          `json:"thread"`
	Counters *float64        `json:"aggregate-number"`
	Value    json.RawMessage `json:"counter-value"`
	Unit     string          `json:"unit"`
	Event    string          `json:"event"`
	Running  *float64        `json:"pcnt-running"`
}

func newPerfJSON(in *lines, o Options) reader {
	return newPerfReader(in, o, func(line string) (record, bool, error) {
		var object perfObject
		err := json.Unmarshal([]byte(line), &object)
		switch {
		case err == nil:
			return object.record()
		case !strings.HasPrefix(strings.TrimSpace(line), "{"):
			err = foreign(line, "-j")
		case !in.whole:
			err = fmt.Errorf("%w: %w", errCutOff, err)
		default:
			err = fmt.Errorf("no JSON object of perf stat -j: %w (with decimal commas, measure again with LC_ALL=C)", err)
		}
		return record{}, false, err
	})
}

// record returns what a line says; false for a line of a metric only.
func (o perfObject) record() (r record, ok bool, err error) {
	r.event, r.unit, r.running = o.Event, unitName(o.Unit), o.Running
	r.empty = o.Counters != nil && *o.Counters == 0
	if o.Interval != nil {
		r.timed, r.time = true, *o.Interval
	}
	for _, where := range []string{o.Socket, o.Die, o.Cluster, o.Cache, o.Core, o.Node, o.Thread} {
		if where != "" {
			r.where = where
		}
	}
	if len(o.CPU) > 0 {
		r.where = "CPU" + strings.Trim(string(o.CPU), `"`)
	}
	if o.Event == "" {
		return r, false, nil
	}
	if len(o.Value) == 0 {
		return r, false, fmt.Errorf("%s has no counter-value: want the object as perf wrote it", show(o.Event))
	}
	var text string
	if json.Unmarshal(o.Value, &text) != nil {
		text = string(o.Value) // a plain number
	}
	if why, absent := absence(text); absent {
		r.missing = why
		return r, true, nil
	}
	if r.value, ok = number(text); !ok {
		return r, false, fmt.Errorf("counter-value %s of %s: want a number", show(text), show(o.Event))
	}
	return r, true, nil
}
