// Package simulate runs applications of compute and communication events on a cluster
// whose network cards are shared according to a model of package network. It is the
// simulator of section VI.A of Vienne et al. 2008.
//
// The shares are recomputed whenever a communication starts or ends.
package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"bandmate.dev/bandmate/network"
	"bandmate.dev/bandmate/units"
)

// Scenario is the input of a simulation.
type Scenario struct {
	Cluster Cluster `json:"cluster"`
	Model   Model   `json:"model"`
	// Placement says on which node each task runs.
	Placement    Placement     `json:"placement"`
	Applications []Application `json:"applications"`
}

// Cluster has equal nodes, numbered from 0.
type Cluster struct {
	// Nodes and CoresPerNode bound the tasks, one a core.
	Nodes        int `json:"nodes"`
	CoresPerNode int `json:"coresPerNode"`
	// Bandwidth is that of a communication alone, as 125MB/s.
	Bandwidth Rate `json:"bandwidth"`
	// Latency passes before the first byte, as 50us. It uses no card.
	Latency Duration `json:"latency,omitempty"`
	// MemoryBandwidth is that of messages between tasks of one node; needed only
	// for such messages.
	MemoryBandwidth Rate `json:"memoryBandwidth,omitempty"`
	// Buffer is the largest message whose sender does not wait for the
	// receiver, as 64KiB; none by default.
	Buffer Size `json:"buffer,omitempty"`
}

// Model names the model and its parameters; those of the paper by default.
type Model struct {
	Name     string   `json:"name"`
	Beta     *float64 `json:"beta,omitempty"`
	GammaOut *float64 `json:"gammaOut,omitempty"`
	GammaIn  *float64 `json:"gammaIn,omitempty"`
}

// Policy says how tasks are placed (section VI.D).
type Policy string

// The policies.
const (
	// RoundRobinNode gives each node a task in turn.
	RoundRobinNode Policy = "round-robin-node"
	// RoundRobinProcessor fills a node before it goes to the next.
	RoundRobinProcessor Policy = "round-robin-processor"
	// Random shuffles all cores by the seed.
	Random Policy = "random"
	// Given takes Placement.Nodes.
	Given Policy = "given"
)

// Placement places the tasks of all applications, in the order of the scenario.
type Placement struct {
	Policy Policy `json:"policy"`
	// Seed is for Random: the same seed gives the same places.
	Seed uint64 `json:"seed,omitempty"`
	// Nodes is for Given: the node of each task.
	Nodes []int `json:"nodes,omitempty"`
}

// Application is tasks that send messages to each other.
type Application struct {
	Name  string `json:"name"`
	Tasks []Task `json:"tasks"`
}

// Task is a sequence of events on one core.
type Task struct {
	Events []Event `json:"events"`
	// Repeat plays the sequence so often; once by default.
	Repeat int `json:"repeat,omitempty"`
}

// Event has exactly one of its fields.
type Event struct {
	// Compute uses the core for a time.
	Compute *Duration `json:"compute,omitempty"`
	Send    *Send     `json:"send,omitempty"`
	Receive *Receive  `json:"receive,omitempty"`
}

// Send waits until the message has arrived, unless it fits the buffer. Neither of its fields
// may be missing.
type Send struct {
	// To is a task of the same application.
	To    *int  `json:"to"`
	Bytes *Size `json:"bytes"`
}

// Receive waits until a message has arrived.
type Receive struct {
	// From is a task of the same application; nil receives from any task.
	From *int `json:"from,omitempty"`
}

// Duration is written with its unit: 1.5ms.
type Duration time.Duration

// UnmarshalJSON reads "1.5ms"; a bare 0 needs no unit.
func (d *Duration) UnmarshalJSON(data []byte) error {
	text, err := text(data)
	if err != nil {
		return err
	}
	v, err := time.ParseDuration(text)
	if err != nil || v < 0 {
		return fmt.Errorf("duration %s: want a time of 0 or more with a unit, as 1.5ms", data)
	}
	*d = Duration(v)
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (d Duration) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, time.Duration(d).String()), nil
}

// Rate is a bandwidth written with its unit: 125MB/s.
type Rate units.Bandwidth

// UnmarshalJSON reads "125MB/s".
func (r *Rate) UnmarshalJSON(data []byte) error {
	text, err := text(data)
	if err != nil {
		return err
	}
	v, err := units.ParseBandwidth(text)
	*r = Rate(v)
	return err
}

// MarshalJSON writes what UnmarshalJSON reads.
func (r Rate) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatFloat(float64(r), 'f', -1, 64)+"B/s"), nil
}

// Size is an amount of data in bytes, a whole number or one with a unit: 20MB.
type Size int64

// maxSize bounds a message to an exabyte.
const maxSize = 1e18

// UnmarshalJSON reads 4096 and "20MB".
func (s *Size) UnmarshalJSON(data []byte) error {
	text, err := text(data)
	if err != nil {
		return err
	}
	number, scale := text, 1.0
	for _, u := range []struct {
		suffix string
		scale  float64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}} {
		if n, ok := strings.CutSuffix(text, u.suffix); ok {
			number, scale = strings.TrimSpace(n), u.scale
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if v *= scale; err != nil || !(v >= 0 && v <= maxSize) {
		return fmt.Errorf("size %s: want bytes, or a number with a unit, as 20MB", data)
	}
	*s = Size(math.Round(v))
	return nil
}

// text returns a JSON string or number as text.
func text(data []byte) (string, error) {
	if len(data) > 0 && data[0] == '"' {
		s, err := strconv.Unquote(string(data))
		if err != nil {
			return "", fmt.Errorf("%s: not a string: %w", data, err)
		}
		return s, nil
	}
	return string(data), nil
}

// Decode reads a scenario from YAML or JSON and validates it. Fields that do not
// exist are refused. JSON takes a fraction of the time and memory of YAML.
func Decode(data []byte) (Scenario, error) {
	var s Scenario
	if err := unmarshal(data, &s); err != nil {
		return Scenario{}, fmt.Errorf("not a scenario in YAML or JSON: %w", err)
	}
	return s, s.Validate()
}

func unmarshal(data []byte, s *Scenario) error {
	if !json.Valid(data) {
		return yaml.UnmarshalStrict(data, s)
	}
	strict, err := strictjson.UnmarshalStrict(data, s)
	return errors.Join(append(strict, err)...)
}

// Bounds of a scenario.
const (
	maxTasks  = 1 << 17
	maxNodes  = 1 << 20
	maxEvents = 50_000_000
	maxFaults = 20
)

// faults collects up to maxFaults errors.
type faults struct{ list []error }

func (f *faults) add(format string, args ...any) {
	switch len(f.list) {
	case maxFaults:
		f.list = append(f.list, errors.New("and more"))
	case maxFaults + 1:
	default:
		f.list = append(f.list, fmt.Errorf(format, args...))
	}
}

// Validate reports the faults of s, at most twenty.
func (s Scenario) Validate() error {
	var f faults
	if _, err := s.Model.Compile(); err != nil {
		f.add("model: %w", err)
	}
	s.Cluster.validate(&f)
	tasks, events := 0, 0
	names := make(map[string]bool)
	for i, a := range s.Applications {
		if a.Name == "" || names[a.Name] {
			f.add("applications[%d].name: %q: want a name of its own", i, a.Name)
		}
		names[a.Name] = true
		if len(a.Tasks) == 0 {
			f.add("application %q: has no tasks", a.Name)
		}
		for j, t := range a.Tasks {
			events += t.validate(&f, fmt.Sprintf("application %q, task %d", a.Name, j), j, len(a.Tasks))
		}
		tasks += len(a.Tasks)
	}
	switch {
	case tasks == 0:
		f.add("applications: none has a task")
	case tasks > maxTasks:
		f.add("applications: %d tasks: want at most %d", tasks, maxTasks)
	case events > maxEvents:
		f.add("applications: %d events: want at most %d", events, maxEvents)
	default:
		s.Placement.validate(&f, s.Cluster, tasks)
	}
	return errors.Join(f.list...)
}

func (c Cluster) validate(f *faults) {
	if c.Nodes < 1 || c.Nodes > maxNodes {
		f.add("cluster.nodes: %d: want 1 to %d", c.Nodes, maxNodes)
	}
	if c.CoresPerNode < 1 || c.CoresPerNode > maxNodes {
		f.add("cluster.coresPerNode: %d: want 1 to %d", c.CoresPerNode, maxNodes)
	}
	if !(c.Bandwidth > 0) {
		f.add("cluster.bandwidth: %v: want what a communication reaches alone, as 125MB/s", units.Bandwidth(c.Bandwidth))
	}
	if !(c.MemoryBandwidth >= 0) || c.Latency < 0 || c.Buffer < 0 {
		f.add("cluster: memoryBandwidth, latency and buffer: want 0 or more")
	}
}

func (t Task) validate(f *faults, place string, self, tasks int) (events int) {
	if t.Repeat < 0 || t.Repeat > maxEvents {
		f.add("%s: repeat of %d: want 1 to %d", place, t.Repeat, maxEvents)
		return 0
	}
	for k, e := range t.Events {
		kinds := 0
		if e.Compute != nil {
			kinds++
		}
		if e.Send != nil {
			kinds++
			e.Send.validate(f, place, k, self, tasks)
		}
		if e.Receive != nil {
			kinds++
			if from := e.Receive.From; from != nil && (*from < 0 || *from >= tasks || *from == self) {
				f.add("%s, event %d: receives from task %d: want another of the %d tasks, from 0", place, k, *from, tasks)
			}
		}
		if kinds != 1 {
			f.add("%s, event %d: want exactly one of compute, send and receive, not %d", place, k, kinds)
		}
	}
	return len(t.Events) * max(1, t.Repeat)
}

func (s Send) validate(f *faults, place string, event, self, tasks int) {
	if s.To == nil {
		f.add("%s, event %d: sends to no task: give one, as {send: {to: 1, bytes: 20MB}}", place, event)
	} else if to := *s.To; to < 0 || to >= tasks || to == self {
		f.add("%s, event %d: sends to task %d: want another of the %d tasks, from 0", place, event, to, tasks)
	}
	if s.Bytes == nil {
		f.add("%s, event %d: sends no bytes: give some, as {send: {to: 1, bytes: 20MB}}", place, event)
	}
}

func (p Placement) validate(f *faults, c Cluster, tasks int) {
	if room := c.Nodes * c.CoresPerNode; room < tasks && c.Nodes <= maxNodes && c.CoresPerNode <= maxNodes {
		f.add("cluster: %d cores for %d tasks: want a core for each", room, tasks)
		return
	}
	switch p.Policy {
	case RoundRobinNode, RoundRobinProcessor, Random:
		if len(p.Nodes) > 0 {
			f.add("placement.nodes: only for the policy %s", Given)
		}
		return
	case Given:
	default:
		f.add("placement.policy: %q: want %s, %s, %s or %s", p.Policy, RoundRobinNode, RoundRobinProcessor, Random, Given)
		return
	}
	if len(p.Nodes) != tasks {
		f.add("placement.nodes: %d nodes for %d tasks: want the node of each", len(p.Nodes), tasks)
	}
	held := make(map[int]int)
	for i, n := range p.Nodes {
		if n < 0 || n >= c.Nodes {
			f.add("placement.nodes[%d]: node %d: want 0 to %d", i, n, c.Nodes-1)
		}
		if held[n]++; held[n] == c.CoresPerNode+1 {
			f.add("placement.nodes: more than %d tasks on node %d, which has so many cores", c.CoresPerNode, n)
		}
	}
}

// place returns the node of each task. The scenario is valid.
func (p Placement) place(c Cluster, tasks int) []int {
	nodes := make([]int, tasks)
	switch p.Policy {
	case RoundRobinNode:
		for i := range nodes {
			nodes[i] = i % c.Nodes
		}
	case RoundRobinProcessor:
		for i := range nodes {
			nodes[i] = i / c.CoresPerNode
		}
	case Random:
		// Only as many cores as tasks are ever drawn: Fisher and Yates, the
		// cores that have moved kept in a map.
		draw, moved := rand.New(rand.NewPCG(p.Seed, 0)), make(map[int]int)
		at := func(i int) int {
			if core, ok := moved[i]; ok {
				return core
			}
			return i
		}
		for i := range nodes {
			j := i + draw.IntN(c.Nodes*c.CoresPerNode-i)
			core := at(j)
			moved[j] = at(i)
			nodes[i] = core / c.CoresPerNode
		}
	case Given:
		copy(nodes, p.Nodes)
	}
	return nodes
}

// Compile returns the model.
func (m Model) Compile() (network.Model, error) {
	given := m.Beta != nil || m.GammaOut != nil || m.GammaIn != nil
	switch m.Name {
	case network.NameGigabitEthernet:
		e := network.PaperGigabitEthernet()
		for of, v := range map[*float64]*float64{&e.Beta: m.Beta, &e.GammaOut: m.GammaOut, &e.GammaIn: m.GammaIn} {
			if v != nil {
				*of = *v
			}
		}
		return e, e.Validate()
	case network.NameMyrinet, network.NameInfiniband:
		if given {
			return nil, fmt.Errorf("%s: beta and the gammas are parameters of %s alone", m.Name, network.NameGigabitEthernet)
		}
		if m.Name == network.NameMyrinet {
			return network.Myrinet{}, nil
		}
		return network.Infiniband{}, nil
	}
	names := network.ModelNames()
	slices.Sort(names)
	return nil, fmt.Errorf("%q: want one of %s", m.Name, strings.Join(names, ", "))
}
