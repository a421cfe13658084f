package slurm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// debian reads what a cluster of 22.05.8 said that has two GPUs on n01, a reservation
// of n02, and memory that jobs consume.
func debian(t *testing.T) *Cluster {
	t.Helper()
	return debianConfigured(t, fixture(t, "scontrol-config-22.05-debian.txt"))
}

// debianConfigured is debian with another configuration.
func debianConfigured(t *testing.T, config string) *Cluster {
	t.Helper()
	runner := &answers{t: t, given: []answer{
		{command: "squeue", output: fixture(t, "squeue-22.05-debian.json")},
		{command: "sinfo", output: fixture(t, "sinfo-22.05-debian.txt")},
	}, details: map[string]string{
		"nodes":        fixture(t, "scontrol-nodes-22.05-debian.txt"),
		"reservations": fixture(t, "scontrol-reservations-22.05-debian.txt"),
		"config":       config,
	}}
	c, err := Reader{Runner: runner, Now: func() time.Time { return moment("2026-11-22T18:12:00") }}.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings) > 0 {
		t.Errorf("warnings: %q", c.Warnings)
	}
	return c
}

func TestReadDetails(t *testing.T) {
	c := debian(t)
	first, second := c.Nodes[0], c.Nodes[1]
	if first.Memory != 1000 || first.AllocatedMemory != 300 || first.Gres["gpu"] != 2 || first.GresUsed["gpu"] != 1 || !first.Available() {
		t.Errorf("n01: %+v", first)
	}
	if second.Reservation != "maint" || second.Available() || !second.AvailableTo("maint") || second.AvailableTo("other") {
		t.Errorf("n02: %+v", second)
	}
	if !c.Consumable.Memory || c.Consumable.Sockets || c.Consumable.MemoryPerNode != 0 || first.WholeSockets {
		t.Errorf("consumable: %+v", c.Consumable)
	}
	config := fixture(t, "scontrol-config-22.05-debian.txt")
	if s := debianConfigured(t, strings.Replace(config, "CR_CORE", "CR_SOCKET", 1)); !s.Consumable.Memory || !s.Consumable.Sockets || !s.Nodes[0].WholeSockets {
		t.Errorf("whole sockets: %+v, %+v", s.Consumable, s.Nodes[0])
	}
	if len(c.Reservations) != 1 || c.Reservations[0].Name != "maint" || !slices.Equal(c.Reservations[0].Nodes, []string{"n02"}) || c.Reservations[0].End.IsZero() {
		t.Errorf("reservations: %+v", c.Reservations)
	}
	if p, _ := c.Partition("pack"); p.Closed || p.MostNodes != 0 || p.TimeLimit != time.Hour {
		t.Errorf("partition: %+v", p)
	}
}

func TestReservationsOfScontrol(t *testing.T) {
	nodes := map[string]*Node{}
	for _, name := range []string{"n1", "n2"} {
		nodes[name] = &Node{Name: name, Sockets: 2, CoresPerSocket: 4}
	}
	const output = `ReservationName=all StartTime=2026-11-22T18:10:37 Nodes=n[1-2] NodeCnt=2 CoreCnt=16 Flags=MAINT,SPEC_NODES TRES=cpu=16
ReservationName=part Nodes=n[1-2] NodeCnt=2 CoreCnt=12 Flags= TRES=cpu=12
ReservationName=odd Nodes=n[1-2] NodeCnt=2 CoreCnt=4   NodeName=n1 CoreIDs=0-2   NodeName=n2 CoreIDs=5 TRES=cpu=4
ReservationName=software Nodes=(null) NodeCnt=0 CoreCnt=0 Flags=ANY_NODES TRES=(null) Licenses=matlab:2
`
	want := []Reservation{
		{Name: "all", Nodes: []string{"n1", "n2"}, Start: moment("2026-11-22T18:10:37"), Flags: []string{"MAINT", "SPEC_NODES"}},
		{Name: "part", Nodes: []string{"n1", "n2"}, Partial: true, Cores: map[string]int{"n1": 6, "n2": 6}},
		{Name: "odd", Nodes: []string{"n1", "n2"}, Partial: true, Cores: map[string]int{"n1": 3, "n2": 1}, Allocations: []Allocation{{"n1", map[int][]int{0: {0, 1, 2}}}, {"n2", map[int][]int{1: {1}}}}},
		{Name: "software", Flags: []string{"ANY_NODES"}},
	}
	if diff := cmp.Diff(want, scontrolReservations([]byte(output), nodes)); diff != "" {
		t.Error(diff)
	}
	if none := scontrolReservations([]byte("No reservations in the system\n"), nodes); none == nil {
		t.Error("no reservations are as unknown ones")
	}
}

// What Slurm says of a node with cores for the system, which alice has for herself.
func TestNodeOfTheSystemAndAUser(t *testing.T) {
	n := &Node{Name: "n1", CPUs: 16, Sockets: 1, CoresPerSocket: 8, ThreadsPerCore: 2}
	scontrolNodes([]byte("NodeName=n1 CPUAlloc=2 CPUEfctv=8 CPUTot=16 RealMemory=1000 Sockets=1 CoreSpecCount=4 CPUSpecList=8-15  State=MIXED ThreadsPerCore=2 Owner=alice(1000) MCS_label=N/A\n"),
		map[string]*Node{"n1": n})
	if n.CPUs != 8 || n.SystemCPUs != 8 || n.cpusPerCore() != 2 || n.Owner != "alice" || !slices.Equal(n.SystemCores[0], []int{4, 5, 6, 7}) {
		t.Errorf("%+v, %d CPUs on each core; want 8 of 16 CPUs, two on each core, of alice", n, n.cpusPerCore())
	}
	c := cluster(1)
	n = &c.Nodes[0]
	scontrolNodes([]byte("NodeName=n1 CPUAlloc=0 CPUEfctv=6 CPUTot=8 CoreSpecCount=2 CPUSpecList=6-7  State=IDLE\n"), map[string]*Node{"n1": n})
	o := NewOccupancy(c, &Site{}, known(t), 0, true, nil)
	for socket, want := range []float64{4, 2} {
		if got := o.free[o.Parts(n)[socket]]; got != want {
			t.Errorf("socket %d: %v CPUs are free, want %v", socket, got, want)
		}
	}
	room, seven, six := NewRoom(c), wants("quiet", 1, 7), wants("quiet", 1, 6)
	if room.Free(n) != 6 || len(seven.Matching(c)) != 0 || !room.Fits(&six, n) {
		t.Errorf("%v CPUs are free, want 6 for a job of as many", room.Free(n))
	}
}

func TestPartitionsOfScontrol(t *testing.T) {
	partitions := []Partition{{Name: "pack"}, {Name: "users"}}
	scontrolPartitions([]byte(`PartitionName=pack AllowGroups=ALL Default=YES QoS=N/A DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO MaxCPUsPerNode=UNLIMITED Nodes=n[1-2] JobDefaults=(null) DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED
PartitionName=users ExclusiveUser=YES Nodes=n[1-2] DefMemPerCPU=400 MaxMemPerNode=UNLIMITED
PartitionName=unknown ExclusiveUser=YES
`), partitions)
	want := []Partition{{Name: "pack"}, {Name: "users", ExclusiveUser: true, MemoryPerCPU: 400}}
	if diff := cmp.Diff(want, partitions); diff != "" {
		t.Error(diff)
	}
}

// The cores that scontrol names are those in the JSON of squeue, which said of these jobs
// what is wanted here.
func TestCoresOfScontrol(t *testing.T) {
	nodes := map[string]*Node{}
	for _, name := range []string{"n01", "n02"} {
		nodes[name] = &Node{Name: name, Sockets: 2, CoresPerSocket: 8, ThreadsPerCore: 1}
	}
	queue := func() []Job {
		return []Job{{ID: 1, State: Running, Nodes: []string{"n01"}}, {ID: 2, State: Running, Nodes: []string{"n01", "n02"}}, {ID: 3, State: Pending}}
	}
	jobs, output := queue(), fixture(t, "scontrol-jobs-22.05-debian.txt")
	scontrolJobs([]byte(output), jobs, nodes)
	for i, want := range [][]Allocation{
		{{"n01", map[int][]int{0: {0, 1}, 1: {0}}}},
		{{"n01", map[int][]int{0: {2, 3, 4, 5, 6, 7}, 1: {1, 2, 3, 4, 5, 6, 7}}}, {"n02", map[int][]int{0: {0, 1, 2, 3}, 1: {0, 1, 2}}}},
		nil,
	} {
		if diff := cmp.Diff(want, jobs[i].Allocations); diff != "" {
			t.Errorf("job %d: %s", jobs[i].ID, diff)
		}
	}
	jobs = queue()
	scontrolJobs([]byte(output+"JobId=2 JobName=x   Nodes=n02 CPU_IDs=15 Mem=0\n"), jobs, nodes)
	if len(jobs[0].Allocations) != 1 || jobs[1].Allocations != nil {
		t.Errorf("shown twice: %+v", jobs)
	}
	for _, n := range nodes {
		n.Sockets, n.CoresPerSocket, n.ThreadsPerCore = 1, 8, 2
	}
	jobs = queue()
	scontrolJobs([]byte(output), jobs, nodes)
	if diff := cmp.Diff([]Allocation{{"n01", map[int][]int{0: {0, 4}}}}, jobs[0].Allocations); diff != "" {
		t.Errorf("two threads for each core: %s", diff)
	}
}

// squeue prints the memory for each CPU as if it were that of a node.
func TestMemoryOfEachCPU(t *testing.T) {
	jobs := []Job{{ID: 1, State: Pending, NodeCount: 2, CPUs: 8, Memory: 2000}, {ID: 2, State: Pending, NodeCount: 1, CPUs: 8, Memory: 2000}}
	scontrolJobs([]byte("JobId=1 JobName=x MinCPUsNode=1 MinMemoryCPU=2000M MinTmpDiskNode=0\nJobId=2 JobName=y MinMemoryNode=2000M\n"), jobs, nil)
	if jobs[0].Memory != 8000 || jobs[1].Memory != 2000 {
		t.Errorf("%d and %d MiB on a node, want 8000 and 2000", jobs[0].Memory, jobs[1].Memory)
	}
}

func TestGresOf(t *testing.T) {
	for _, test := range []struct {
		field string
		want  map[string]int
	}{
		{"(null)", nil},
		{"N/A", nil},
		{"", nil},
		{"gpu", map[string]int{"gpu": 1}},
		{"gpu:2", map[string]int{"gpu": 2}},
		{"gres:gpu:a100:1,gres/tape:2K", map[string]int{"gpu": 1, "gpu:a100": 1, "tape": 2048}},
		{"gpu:a100:2(S:0-1),gpu:h100:1(IDX:0,2)", map[string]int{"gpu": 3, "gpu:a100": 2, "gpu:h100": 1}},
		{"gres/gpu=4", map[string]int{"gpu": 4}},
		{"gpu:no_consume:2", map[string]int{"gpu": 2}},
		{"cpu=8", nil},
		{"cpu:7,gres/gpu:1", map[string]int{"gpu": 1}},
		{"mem=4G,node=1,billing=8,license/matlab=2,bb/datawarp=1,fs/scratch=1,ic/ofed=1", nil},
		{"%G", nil},
		{":3", nil},
	} {
		if diff := cmp.Diff(test.want, gresOf(test.field)); diff != "" {
			t.Errorf("%q: %s", test.field, diff)
		}
	}
}

// Since 23.11 squeue lists the CPUs of a task among its resources.
func TestCPUsOfTasksAreNoGres(t *testing.T) {
	q, err := squeueJSON([]byte(`{"jobs":[{"job_id":1,"job_state":["PENDING"],"node_count":1,"cpus":8,"tasks":1,"cpus_per_task":8,"tres_per_task":"cpu:8"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r := (&Site{}).Request(&q.jobs[0])
	if nodes := r.Eligible(cluster(1)); len(r.Gres) > 0 || len(nodes) != 1 {
		t.Errorf("generic resources %v, %d nodes; want none, and one node", r.Gres, len(nodes))
	}
}

func TestMebibytes(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "0": 0, "300": 300, "300M": 300, "300Mc": 300, "2G": 2048, "1.5Gn": 1536, "1T": 1 << 20, "1K": 1, "many": 0, "-1": 0, "NaN": 0,
	} {
		if got := mebibytes(text); got != want {
			t.Errorf("%q: %d MiB, want %d", text, got, want)
		}
	}
}

// Where CPUs counts cores, a job has one CPU of each of its cores.
func TestNodeOfCoresWithThreads(t *testing.T) {
	j := runs("quiet", 4, "n1")
	j.Allocations = []Allocation{{"n1", map[int][]int{0: {0, 1, 2, 3}}}}
	c := cluster(1, j)
	n := &c.Nodes[0]
	n.ThreadsPerCore = 2
	room, r := NewRoom(c), wants("quiet", 1, 4)
	if free := room.Free(n); free != 4 || !room.Fits(&r, n) {
		t.Errorf("%v CPUs are free, fits %v; want 4 that fit", free, room.Fits(&r, n))
	}
	o := NewOccupancy(c, &Site{}, known(t), 0, true, nil)
	for socket, want := range []float64{0, 4} {
		if got := o.free[o.Parts(n)[socket]]; got != want {
			t.Errorf("socket %d: %v CPUs are free, want %v", socket, got, want)
		}
	}
	if got := o.Parts(n)[0].Residents[0].CPUs; got != 4 {
		t.Errorf("a resident of %v CPUs, want 4", got)
	}
	n.CPUs = 16
	if free := NewRoom(c).Free(n); free != 8 {
		t.Errorf("where threads count: %v CPUs are free, want 8", free)
	}
}

// A component takes of a node what it asks for from those that come after it.
func TestRoomBesideAComponent(t *testing.T) {
	empty := cluster(2)
	empty.Consumable.Memory = true
	for i := range empty.Nodes {
		empty.Nodes[i].Memory, empty.Nodes[i].Gres, empty.Nodes[i].GresUsed = 1000, map[string]int{"gpu": 2}, map[string]int{"gpu": 0}
	}
	for name, ask := range map[string]func(*Request){
		"CPUs":   func(r *Request) { r.CPUsPerNode, r.Memory = 5, 1 },
		"memory": func(r *Request) { r.Memory = 501 },
		"GPUs":   func(r *Request) { r.Memory, r.Gres = 1, map[string]int{"gpu": 2} },
	} {
		r := wants("quiet", 1, 2)
		ask(&r)
		beside := NewRoom(empty.With(&r, []string{"n1"}))
		for i, want := range []bool{false, true} {
			if got := beside.Fits(&r, &empty.Nodes[i]); got != want {
				t.Errorf("%s: %s fits: %v, want %v", name, empty.Nodes[i].Name, got, want)
			}
		}
		if !NewRoom(empty).Fits(&r, &empty.Nodes[0]) {
			t.Errorf("%s: taken from the cluster itself", name)
		}
	}
}

// reservedHalf is a reservation of the first socket of three nodes.
func reservedHalf(at time.Time) Reservation {
	v := Reservation{Name: "half", Start: at.Add(-time.Hour), End: at.Add(time.Hour), Partial: true, Cores: map[string]int{}}
	for _, name := range []string{"n1", "n2", "n3"} {
		v.Nodes, v.Cores[name] = append(v.Nodes, name), 4
		v.Allocations = append(v.Allocations, Allocation{name, map[int][]int{0: {0, 1, 2, 3}}})
	}
	return v
}

// TestRoomForMore checks what beside CPUs decides where a job can start: now, later,
// or never.
func TestRoomForMore(t *testing.T) {
	const never, later, now = "never", "later", "now"
	of := func(user, partition string, cpus int, node string) Job {
		return Job{State: Running, User: user, Partitions: []string{partition}, CPUs: cpus, NodeCount: 1, Nodes: []string{node}}
	}
	at := time.Unix(1e9, 0)
	// Jobs of others hold half of each node: the other half than is reserved, the reserved
	// one, and one that Slurm does not tell.
	heldBefore := func(c *Cluster) {
		c.Reservations = []Reservation{reservedHalf(at)}
		c.Jobs = []Job{of("bob", "pack", 4, "n1"), of("bob", "pack", 4, "n2"), of("bob", "pack", 4, "n3")}
		c.Jobs[0].Allocations = []Allocation{{"n1", map[int][]int{1: {0, 1, 2, 3}}}}
		c.Jobs[1].Allocations = []Allocation{{"n2", map[int][]int{0: {0, 1, 2, 3}}}}
	}
	for _, test := range []struct {
		name    string
		change  func(*Cluster)
		request Request
		want    [3]string
	}{
		{"an empty cluster", func(*Cluster) {}, Request{}, [3]string{now, now, now}},
		{"GPUs", func(c *Cluster) {
			c.Nodes[0].Gres, c.Nodes[0].GresUsed = map[string]int{"gpu": 2}, map[string]int{"gpu": 2}
			c.Nodes[2].Gres = map[string]int{"gpu": 2}
		}, Request{Gres: map[string]int{"gpu": 1}}, [3]string{later, never, now}},
		{"GPUs of a type", func(c *Cluster) {
			c.Nodes[0].Gres = map[string]int{"gpu": 2, "gpu:a100": 2}
			c.Nodes[1].Gres = map[string]int{"gpu": 2, "gpu:h100": 2}
		}, Request{Gres: map[string]int{"gpu": 1, "gpu:h100": 1}}, [3]string{never, now, never}},
		{"memory", func(c *Cluster) {
			c.Consumable.Memory = true
			c.Nodes[0].AllocatedMemory, c.Nodes[1].Memory = 600, 300
		}, Request{Memory: 500}, [3]string{later, never, now}},
		{"memory that jobs do not consume", func(c *Cluster) { c.Nodes[0].AllocatedMemory = 600 }, Request{Memory: 500}, [3]string{now, now, now}},
		{"memory by default of a partition for each CPU", func(c *Cluster) {
			c.Consumable, c.Partitions[1].MemoryPerCPU = Consumable{Memory: true, MemoryPerCPU: 100}, 400
			c.Nodes[0].AllocatedMemory, c.Nodes[1].AllocatedMemory = 201, 200
		}, Request{}, [3]string{later, now, now}},
		{"memory by default of a partition for each node", func(c *Cluster) {
			c.Consumable, c.Partitions[1].MemoryPerNode = Consumable{Memory: true, MemoryPerCPU: 100}, 600
			c.Nodes[0].AllocatedMemory, c.Nodes[1].AllocatedMemory = 401, 400
		}, Request{}, [3]string{later, now, now}},
		{"memory by default of another partition", func(c *Cluster) {
			c.Consumable, c.Partitions[2].MemoryPerNode = Consumable{Memory: true, MemoryPerCPU: 100}, 600
			c.Nodes[0].AllocatedMemory = 800
		}, Request{}, [3]string{now, now, now}},
		{"CPUs that all jobs of a partition have", func(c *Cluster) {
			c.Partitions[1].MostCPUsPerNode = 4
			c.Nodes[1].Partitions = append(c.Nodes[1].Partitions, "odd")
			c.Jobs = []Job{of("bob", "pack", 3, "n1"), of("bob", "odd", 3, "n2"), of("bob", "pack", 2, "n3")}
		}, Request{}, [3]string{later, now, now}},
		{"nodes that users have for themselves", func(c *Cluster) {
			c.Nodes[0].Owner, c.Nodes[1].Owner = "bob", "alice"
		}, Request{User: "alice"}, [3]string{later, now, now}},
		{"jobs that share only with those of their user", func(c *Cluster) {
			c.Jobs = []Job{of("bob", "pack", 1, "n1"), of("alice", "pack", 1, "n2"), of("bob", "pack", 1, "n3")}
			c.Jobs[0].ExclusiveUser, c.Jobs[1].ExclusiveUser = true, true
		}, Request{User: "alice"}, [3]string{later, now, now}},
		{"a job that shares only with those of its user", func(c *Cluster) {
			c.Jobs = []Job{of("bob", "pack", 1, "n1"), of("alice", "pack", 1, "n2")}
		}, Request{User: "alice", ExclusiveUser: true}, [3]string{later, now, now}},
		{"a partition whose users share no nodes", func(c *Cluster) {
			c.Partitions[1].ExclusiveUser = true
			c.Nodes[1].Partitions = append(c.Nodes[1].Partitions, "odd")
			c.Jobs = []Job{of("bob", "odd", 1, "n1"), of("alice", "odd", 1, "n2")}
		}, Request{User: "alice"}, [3]string{later, now, now}},
		{"a partition of whole nodes beside another", func(c *Cluster) {
			c.Jobs = []Job{of("bob", "pack", 1, "n1"), of("bob", "pack", 7, "n2")}
		}, Request{Partitions: []string{"whole", "pack"}}, [3]string{now, later, now}},
		{"all memory by default", func(c *Cluster) {
			c.Consumable.Memory = true
			c.Nodes[0].AllocatedMemory = 1
		}, Request{}, [3]string{later, now, now}},
		{"memory by default for each CPU", func(c *Cluster) {
			c.Consumable = Consumable{Memory: true, MemoryPerCPU: 100}
			c.Nodes[0].AllocatedMemory, c.Nodes[1].AllocatedMemory = 800, 801
		}, Request{}, [3]string{now, later, now}},
		{"a reservation, and a busy node of it", func(c *Cluster) {
			c.Nodes[0].Flags = []string{"RESERVED"}
			c.Nodes[1].State, c.Nodes[1].Flags, c.Nodes[1].Reservation = "MIXED", []string{"RESERVED"}, "maint"
		}, Request{}, [3]string{never, never, now}},
		{"in that reservation", func(c *Cluster) {
			c.Reservations = []Reservation{{Name: "maint", Nodes: []string{"n2"}, Start: at.Add(-time.Hour), End: at.Add(time.Hour)}}
			c.Nodes[1].Flags, c.Nodes[1].Reservation = []string{"RESERVED"}, "maint"
		}, Request{Reservation: "maint"}, [3]string{never, now, never}},
		{"a reservation that begins before the job ends", func(c *Cluster) {
			c.Reservations = []Reservation{{Name: "maint", Nodes: []string{"n2"}, Start: at.Add(time.Hour), End: at.Add(2 * time.Hour)}}
		}, Request{TimeLimit: 2 * time.Hour}, [3]string{now, never, now}},
		{"a reservation that begins after it", func(c *Cluster) {
			c.Reservations = []Reservation{{Name: "maint", Nodes: []string{"n2"}, Start: at.Add(time.Hour), End: at.Add(2 * time.Hour)}}
		}, Request{TimeLimit: time.Hour}, [3]string{now, now, now}},
		{"a reservation to come, and a job without a limit", func(c *Cluster) {
			c.Reservations = []Reservation{
				{Name: "maint", Nodes: []string{"n2"}, Start: at.Add(1000 * time.Hour), End: at.Add(1001 * time.Hour)},
				{Name: "over", Nodes: []string{"n3"}, Start: at.Add(-2 * time.Hour), End: at.Add(-time.Hour)},
			}
		}, Request{Job: &Job{}}, [3]string{now, never, now}},
		{"a reservation to come, and a job that was not submitted, without a limit", func(c *Cluster) {
			c.Reservations = []Reservation{{Name: "maint", Nodes: []string{"n2"}, Start: at.Add(1000 * time.Hour), End: at.Add(1001 * time.Hour)}}
		}, Request{}, [3]string{now, now, now}},
		{"a reservation to come, and a limit of the partition", func(c *Cluster) {
			c.Partitions[1].TimeLimit = 2 * time.Hour
			c.Reservations = []Reservation{
				{Name: "soon", Nodes: []string{"n1"}, Start: at.Add(time.Hour), End: at.Add(3 * time.Hour)},
				{Name: "later", Nodes: []string{"n2"}, Start: at.Add(2 * time.Hour), End: at.Add(3 * time.Hour)},
			}
		}, Request{Job: &Job{}}, [3]string{never, now, now}},
		{"its own reservation, and one of others that begins before it ends", func(c *Cluster) {
			c.Reservations = []Reservation{
				{Name: "mine", Nodes: []string{"n1", "n2", "n1"}, Start: at.Add(-time.Hour), End: at.Add(time.Hour)},
				{Name: "maint", Nodes: []string{"n2", "n3"}, Start: at.Add(time.Hour), End: at.Add(2 * time.Hour)},
			}
		}, Request{Reservation: "mine", TimeLimit: 2 * time.Hour}, [3]string{now, never, never}},
		{"its own reservation, which has not begun", func(c *Cluster) {
			c.Reservations = []Reservation{{Name: "class", Nodes: []string{"n1", "n2"}, Start: at.Add(time.Hour), End: at.Add(3 * time.Hour)}}
		}, Request{Reservation: "class", TimeLimit: time.Hour}, [3]string{later, later, never}},
		{"its own reservation, which follows that of others", func(c *Cluster) {
			c.Nodes[0].Flags, c.Nodes[0].Reservation = []string{"RESERVED"}, "before"
			c.Reservations = []Reservation{
				{Name: "before", Nodes: []string{"n1", "n2"}, Start: at.Add(-time.Hour), End: at.Add(time.Hour)},
				{Name: "class", Nodes: []string{"n1", "n2"}, Start: at.Add(time.Hour), End: at.Add(3 * time.Hour)},
				{Name: "after", Nodes: []string{"n2"}, Start: at.Add(3 * time.Hour), End: at.Add(4 * time.Hour)},
			}
		}, Request{Reservation: "class", TimeLimit: 90 * time.Minute}, [3]string{later, later, never}},
		{"a reservation of some cores", func(c *Cluster) {
			c.Nodes[0].Flags, c.Nodes[0].Reservation = []string{"RESERVED"}, "part"
			c.Reservations = []Reservation{{Name: "part", Nodes: []string{"n1", "n2"}, Start: at.Add(-time.Hour), End: at.Add(time.Hour), Partial: true}}
		}, Request{}, [3]string{now, now, now}},
		{"reservations of some cores that leave too few", func(c *Cluster) {
			some := func(name, node string, cores int) Reservation {
				return Reservation{Name: name, Nodes: []string{node}, Start: at.Add(-time.Hour), End: at.Add(time.Hour), Partial: true, Cores: map[string]int{node: cores}}
			}
			c.Reservations = []Reservation{some("a", "n1", 7), some("b", "n2", 5), some("c", "n3", 5)}
			c.Jobs = []Job{of("bob", "pack", 2, "n2"), of("bob", "pack", 4, "n3")}
			c.Jobs[1].Reservation = "c"
		}, Request{}, [3]string{never, later, now}},
		{"reserved cores that jobs of others had before", heldBefore, Request{}, [3]string{later, now, later}},
		{"in a reservation whose cores jobs of others had before", heldBefore, Request{Reservation: "half"}, [3]string{now, later, now}},
		{"in a reservation of some cores", func(c *Cluster) {
			c.Reservations = []Reservation{{
				Name: "part", Nodes: []string{"n1", "n2", "n3"}, Start: at.Add(-time.Hour), End: at.Add(time.Hour),
				Partial: true, Cores: map[string]int{"n1": 1, "n2": 4, "n3": 4},
			}}
			c.Jobs = []Job{of("bob", "pack", 3, "n2"), of("bob", "pack", 4, "n3")}
			c.Jobs[0].Reservation = "part"
		}, Request{Reservation: "part"}, [3]string{never, later, now}},
		{"a reservation of some cores that begins after it", func(c *Cluster) {
			c.Reservations = []Reservation{{
				Name: "part", Nodes: []string{"n1"}, Start: at.Add(2 * time.Hour), End: at.Add(3 * time.Hour), Partial: true, Cores: map[string]int{"n1": 7},
			}}
		}, Request{TimeLimit: time.Hour}, [3]string{now, now, now}},
		{"a reservation of some cores, and a job of whole nodes", func(c *Cluster) {
			c.Reservations = []Reservation{{Name: "part", Nodes: []string{"n1"}, Start: at.Add(-time.Hour), End: at.Add(time.Hour), Partial: true}}
		}, Request{Exclusive: true}, [3]string{never, now, now}},
		{"maintenance of nodes that others have reserved", func(c *Cluster) {
			c.Nodes[0].Flags, c.Nodes[0].Reservation = []string{"RESERVED"}, "class"
			c.Reservations = []Reservation{
				{Name: "class", Nodes: []string{"n1", "n2"}, Start: at.Add(-time.Hour), End: at.Add(time.Hour)},
				{Name: "mine", Nodes: []string{"n1", "n2"}, Start: at.Add(-time.Hour), End: at.Add(time.Hour), Flags: []string{"MAINT", "SPEC_NODES"}},
			}
		}, Request{Reservation: "mine"}, [3]string{now, now, never}},
		{"an overlapping reservation, and maintenance of one of its nodes", func(c *Cluster) {
			c.Reservations = []Reservation{
				{Name: "class", Nodes: []string{"n1"}, Start: at.Add(-time.Hour), End: at.Add(time.Hour)},
				{Name: "maint", Nodes: []string{"n2"}, Start: at.Add(-time.Hour), End: at.Add(time.Hour), Flags: []string{"MAINT"}},
				{Name: "mine", Nodes: []string{"n1", "n2"}, Start: at.Add(-time.Hour), End: at.Add(time.Hour), Flags: []string{"OVERLAP"}},
			}
		}, Request{Reservation: "mine", TimeLimit: time.Hour}, [3]string{now, never, never}},
		{"a flexible reservation, which has not begun", func(c *Cluster) {
			c.Reservations = []Reservation{{Name: "mine", Nodes: []string{"n1"}, Start: at.Add(time.Hour), End: at.Add(2 * time.Hour), Flags: []string{"FLEX"}}}
		}, Request{Reservation: "mine"}, [3]string{now, now, now}},
		{"a reservation of licenses", func(c *Cluster) {
			c.Reservations = []Reservation{{Name: "mine", Start: at.Add(-time.Hour), End: at.Add(time.Hour), Flags: []string{"ANY_NODES"}}}
		}, Request{Reservation: "mine"}, [3]string{now, now, now}},
		{"two reservations, of which one has not begun", func(c *Cluster) {
			c.Reservations = []Reservation{
				{Name: "a", Nodes: []string{"n1"}, Start: at.Add(-time.Hour), End: at.Add(time.Hour)},
				{Name: "b", Nodes: []string{"n2"}, Start: at.Add(time.Hour), End: at.Add(2 * time.Hour)},
			}
		}, Request{Reservation: "a,b"}, [3]string{now, later, never}},
		{"a reservation that does not exist", func(c *Cluster) {
			c.Reservations = []Reservation{}
		}, Request{Reservation: "none"}, [3]string{never, never, never}},
		{"a reservation where Slurm tells none", func(*Cluster) {}, Request{Reservation: "mine"}, [3]string{now, now, now}},
		{"invalid registration, planned, unknown", func(c *Cluster) {
			c.Nodes[0].Flags, c.Nodes[1].Flags, c.Nodes[2].State = []string{"INVALID_REG"}, []string{"PLANNED"}, "QUANTUM"
		}, Request{}, [3]string{never, later, never}},
		{"a partition that is down", func(c *Cluster) {
			c.Partitions[0].Closed = true
		}, Request{Partitions: []string{"odd", "pack"}}, [3]string{now, now, now}},
		{"a partition of smaller jobs beside one that is open", func(c *Cluster) {
			c.Partitions[1].MostCPUsPerNode = 1
		}, Request{Partitions: []string{"odd", "pack"}}, [3]string{now, never, now}},
		{"a partition of shorter jobs", func(c *Cluster) {
			c.Partitions[1].TimeLimit = time.Minute
		}, Request{Partitions: []string{"odd", "pack"}, TimeLimit: time.Hour}, [3]string{now, never, now}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := cluster(3)
			c.Time = at
			for i := range c.Nodes {
				c.Nodes[i].Memory = 1000
			}
			test.change(c)
			r := test.request
			r.Application, r.Nodes, r.CPUsPerNode = "quiet", 1, 2
			room := NewRoom(c)
			eligible := r.Eligible(c)
			var got [3]string
			for i := range c.Nodes {
				n := &c.Nodes[i]
				switch {
				case !slices.Contains(eligible, n):
					got[i] = never
				case room.Fits(&r, n):
					got[i] = now
				default:
					got[i] = later
				}
			}
			if got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
