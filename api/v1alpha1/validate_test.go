package v1alpha1_test

import (
	"math"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bandmate.dev/bandmate/api/v1alpha1"
)

func TestSoundProfilesHaveNoFaults(t *testing.T) {
	bare := soundApplication()
	bare.TypeMeta = metav1.TypeMeta{}
	bare.Spec.Measurement = v1alpha1.Measurement{}
	bare.Spec.Phases, bare.Spec.Warnings, bare.Spec.Contentiousness.Timeline = nil, nil, nil
	idle := soundApplication()
	idle.Spec.Contentiousness.ReadBytesPerSecond, idle.Spec.Contentiousness.WriteBytesPerSecond = 0, 0
	idle.Spec.Distance.TargetReadBytesPerSecond, idle.Spec.Distance.TargetWriteBytesPerSecond = 0, 0
	random := soundApplication()
	random.Spec.Curves[1].ReadShare, random.Spec.Curves[1].Pattern = 0.5, "random"
	for name, o := range map[string]v1alpha1.Object{
		"full": soundApplication(), "bare": bare, "no traffic": idle, "two patterns": random, "machine": soundMachine(),
	} {
		if faults := o.Validate(); len(faults) > 0 {
			t.Errorf("%s: %v", name, faults.ToAggregate())
		}
	}
}

func TestApplicationFaults(t *testing.T) {
	type profile = v1alpha1.ApplicationProfile
	nan, inf := math.NaN(), math.Inf(1)
	tests := []struct {
		name  string
		spoil func(p *profile)
		want  []string // parts of the faults, in order
	}{
		{"api version", func(p *profile) { p.APIVersion = "bandmate.dev/v2" }, []string{`apiVersion: Unsupported value: "bandmate.dev/v2"`}},
		{"kind", func(p *profile) { p.Kind = "MachineProfile" }, []string{`kind: Unsupported value: "MachineProfile"`}},
		{"no name", func(p *profile) { p.Name = "" }, []string{"metadata.name: Required"}},
		{"capitals", func(p *profile) { p.Name = "Triad" }, []string{`metadata.name: Invalid value: "Triad"`}},
		{"path", func(p *profile) { p.Name = "../x" }, []string{"metadata.name: Invalid"}},
		{"long name", func(p *profile) { p.Name = strings.Repeat("a", 254) }, []string{"metadata.name: Invalid"}},
		{"annotation", func(p *profile) { p.Annotations = map[string]string{"a": "\x1b[31m"} }, []string{"metadata.annotations[a]: Invalid"}},
		{"machine", func(p *profile) { p.Spec.Machine.Name = "" }, []string{"spec.machine.name: Required"}},
		{"machine path", func(p *profile) { p.Spec.Machine.Name = "a/b" }, []string{`spec.machine.name: Invalid value: "a/b"`}},
		{"terminal escape", func(p *profile) { p.Spec.Machine.CPUModel = "a\x1b[2J" }, []string{"spec.machine.cpuModel: Invalid"}},
		{"direction override", func(p *profile) { p.Spec.Warnings[0] = "a\u202eb" }, []string{"spec.warnings[0]: Invalid"}},
		{"not UTF-8", func(p *profile) { p.Spec.Warnings[0] = "a\xff" }, []string{"spec.warnings[0]: Invalid"}},
		{"long warning", func(p *profile) { p.Spec.Warnings[0] = strings.Repeat("x", 2000) }, []string{"spec.warnings[0]: Too long"}},
		{"many warnings", func(p *profile) { p.Spec.Warnings = make([]string, 101) }, []string{"spec.warnings: Too many: 101"}},
		{"argument", func(p *profile) { p.Spec.Command[1] = "\x00" }, []string{"spec.command[1]: Invalid"}},
		{"year", func(p *profile) {
			p.Spec.Measurement.Time = metav1.NewTime(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))
		}, []string{"spec.measurement.time: Invalid"}},
		{"no saturation", func(p *profile) { p.Spec.Service.SaturationRequestsPerSecond = 0 }, []string{"spec.service.saturationRequestsPerSecond: Invalid"}},
		{"load above saturation", func(p *profile) { p.Spec.Service.Loads[1].RequestsPerSecond = 13_000 }, []string{"spec.service.loads[1].requestsPerSecond: Invalid"}},
		{"loads that do not ascend", func(p *profile) { p.Spec.Service.Loads[1].RequestsPerSecond = 1000 }, []string{"spec.service.loads[1].requestsPerSecond: Invalid"}},
		{"quantiles that do not ascend", func(p *profile) { p.Spec.Service.Loads[0].P999Seconds = 1e-4 }, []string{"spec.service.loads[0].p99Seconds: Invalid"}},
		{"no factors", func(p *profile) { p.Spec.Service.Factors = nil }, []string{"spec.service.factors: Required"}},
		{"factors at other pressures", func(p *profile) { p.Spec.Service.Factors[1].Curves[0].Points[0].Level = 0.5 }, []string{"spec.service.factors[1].curves: Invalid"}},
		{"factors in GB/s", func(p *profile) {
			p.Spec.Service.Factors[0].ReadBytesPerSecond, p.Spec.Service.Factors[0].WriteBytesPerSecond = 1, 0
		}, []string{"spec.service.factors[0].readBytesPerSecond: Invalid"}},
		{"distance in GB/s", func(p *profile) {
			p.Spec.Distance.TargetReadBytesPerSecond, p.Spec.Distance.TargetWriteBytesPerSecond = 35, 12
		}, []string{"spec.distance: Invalid value: 47"}},
		{"time as a co-runner", func(p *profile) { p.Spec.Distance.CorunnerSolo.Seconds = -1 }, []string{
			"spec.distance.corunnerSolo.seconds: Invalid value: -1: want seconds",
		}},
		{"far away", func(p *profile) { p.Spec.Distance.CorunnerSolo.Seconds = 1251 }, []string{"want within a factor of 100 of spec.solo.seconds, 12.5"}},
		{"much nearer", func(p *profile) { p.Spec.Distance.CorunnerSolo.Seconds = 0.12 }, []string{"want within a factor of 100"}},
		{"traffic as a target alone", func(p *profile) {
			p.Spec.Contentiousness.ReadBytesPerSecond, p.Spec.Contentiousness.WriteBytesPerSecond = 0, 0
		}, []string{"spec.distance.targetReadBytesPerSecond: Invalid value: 4.7e"}},
		{"cpu list as a co-runner", func(p *profile) { p.Spec.Distance.CorunnerCPUs = "all" }, []string{"spec.distance.corunnerCPUs: Invalid"}},
		{"cpu list", func(p *profile) { p.Spec.Measurement.TargetCPUs = "0-3;rm" }, []string{"spec.measurement.targetCPUs: Invalid"}},
		{"memory node", func(p *profile) { p.Spec.Measurement.MemoryNode = new(-1) }, []string{"spec.measurement.memoryNode: Invalid value: -1"}},
		{"regime", func(p *profile) { p.Spec.Measurement.Regime = &v1alpha1.Regime{Name: "near"} }, []string{"regime.name: Unsupported", "roundTripNanoseconds: Invalid value: 0"}},
		{"progress", func(p *profile) { p.Spec.Measurement.Progress = "step\n" }, []string{"progress: Invalid"}},
		{"progress too long", func(p *profile) { p.Spec.Measurement.Progress = strings.Repeat("x", 1025) }, []string{"progress: Too long"}},
		{"interferers", func(p *profile) { p.Spec.Measurement.Interferers = 65 }, []string{"interferers: Invalid"}},
		{"negative interferers", func(p *profile) { p.Spec.Measurement.Interferers = -1 }, []string{"interferers: Invalid"}},
		{"dropped", func(p *profile) { p.Spec.Measurement.DroppedSamples = -1 }, []string{"droppedSamples: Invalid"}},
		{"solo", func(p *profile) { p.Spec.Solo = v1alpha1.Timing{Seconds: inf} }, []string{"spec.solo.seconds: Invalid value: +Inf", "spec.solo.repeats: Invalid value: 0"}},
		{"spread of one", func(p *profile) { p.Spec.Solo.Repeats = 1 }, []string{"spec.solo.relativeSpread: Invalid value: 0.004: want it absent"}},
		{"spread", func(p *profile) { p.Spec.Solo.RelativeSpread = new(nan) }, []string{"spec.solo.relativeSpread: Invalid value: NaN"}},
		{"huge spread", func(p *profile) { p.Spec.Curves[0].Points[0].Spread = new(1e200) }, []string{"want a spread of 0 to 1e6"}},
		{"negative reads", func(p *profile) { p.Spec.Contentiousness.ReadBytesPerSecond = -1 }, []string{"readBytesPerSecond: Invalid value: -1"}},
		{"writes NaN", func(p *profile) { p.Spec.Contentiousness.WriteBytesPerSecond = nan }, []string{"writeBytesPerSecond: Invalid value: NaN"}},
		{"in GB/s", func(p *profile) {
			p.Spec.Contentiousness.ReadBytesPerSecond, p.Spec.Contentiousness.WriteBytesPerSecond = 28.5, 9.5
		}, []string{"spec.contentiousness: Invalid value: 38: want reads and writes in bytes per second"}},
		{"too fast", func(p *profile) { p.Spec.Contentiousness.ReadBytesPerSecond = 2e13 }, []string{"readBytesPerSecond: Invalid value: 2e+13"}},
		{"source", func(p *profile) { p.Spec.Contentiousness.Source = "" }, []string{"source: Required"}},
		{"uncertainty", func(p *profile) {
			p.Spec.Contentiousness.RelativeUncertainty, p.Spec.Contentiousness.ReadShareUncertainty = new(-0.1), new(1.1)
		}, []string{"relativeUncertainty: Invalid", "readShareUncertainty: Invalid"}},
		{"timeline order", func(p *profile) { p.Spec.Contentiousness.Timeline[1].Seconds = 0.1 }, []string{"timeline[1].seconds: Invalid value: 0.1: want more than the previous 0.1"}},
		{"timeline length", func(p *profile) { p.Spec.Contentiousness.Timeline = make([]v1alpha1.TrafficSample, 10_001) }, []string{"timeline: Too many: 10001"}},
		{"no curves", func(p *profile) { p.Spec.Curves = nil }, []string{"spec.curves: Required"}},
		{"empty curve", func(p *profile) { p.Spec.Curves[1].Points = nil }, []string{"spec.curves[1].points: Required"}},
		{"many curves", func(p *profile) { p.Spec.Curves = make([]v1alpha1.SensitivityCurve, 65) }, []string{"spec.curves: Too many: 65"}},
		{"many points", func(p *profile) { p.Spec.Curves[0].Points = make([]v1alpha1.CurvePoint, 129) }, []string{"spec.curves[0].points: Too many: 129"}},
		{"read share in percent", func(p *profile) { p.Spec.Curves[1].ReadShare = 75 }, []string{"spec.curves[1].readShare: Invalid value: 75: want a share"}},
		{"pattern", func(p *profile) { p.Spec.Curves[0].Pattern = "zigzag" }, []string{`spec.curves[0].pattern: Unsupported value: "zigzag"`}},
		{"same curve twice", func(p *profile) { p.Spec.Curves[1].ReadShare = 0.5 }, []string{"spec.curves[1]: Duplicate value: \"read share 0.5, sequential\""}},
		{"same but for the sign of zero", func(p *profile) {
			p.Spec.Curves[0].ReadShare, p.Spec.Curves[1].ReadShare = 0, math.Copysign(0, -1)
		}, []string{"spec.curves[1]: Duplicate value: \"read share 0, sequential\""}},
		{"same but for noise", func(p *profile) { p.Spec.Curves[1].ReadShare = 0.50000000001 }, []string{"spec.curves[1]: Duplicate"}},
		{"level 0", func(p *profile) { p.Spec.Curves[0].Points[0].Level = 0 }, []string{"spec.curves[0].points[0].level: Invalid value: 0"}},
		{"more interferers than fit", func(p *profile) { p.Spec.Curves[0].Points[0].Level = 65 }, []string{"spec.curves[0].points[0].level: Invalid value: 65"}},
		{"inferred and measured", func(p *profile) { p.Spec.Curves[0].Points[0].Inferred = true }, []string{"spec.curves[0].points[0].repeats: Invalid value: "}},
		{"transferred", func(p *profile) {
			p.Spec.Transferred = &v1alpha1.Transfer{Method: "guess", LossUncertainty: 2, CapacityBytesPerSecond: new(40.0)}
		}, []string{"spec.transferred.fromMachine: Required", `spec.transferred.method: Unsupported value: "guess"`, "spec.transferred.lossUncertainty: Invalid value: 2", "spec.transferred.capacityBytesPerSecond: Invalid value: 40"}},
		{"level twice", func(p *profile) { p.Spec.Curves[0].Points[0].Level = 1 }, []string{"spec.curves[0].points[1].level: Duplicate value: 1"}},
		{"order", func(p *profile) { p.Spec.Curves[0].Points[1].InterfererBytesPerSecond = 10.66e9 }, []string{"spec.curves[0].points[1].interfererBytesPerSecond: Invalid value: 1.066e+10: want more than the previous"}},
		{"interferer in GB/s", func(p *profile) { p.Spec.Curves[0].Points[0].InterfererBytesPerSecond = 10.66 }, []string{"points[0].interfererBytesPerSecond: Invalid value: 10.66: want bytes per second, 1e3 to 1e13 (is this in GB/s?)"}},
		{"achieved", func(p *profile) { p.Spec.Curves[0].Points[0].AchievedBytesPerSecond = new(-5.0) }, []string{"achievedBytesPerSecond: Invalid value: -5"}},
		{"performance 0", func(p *profile) { p.Spec.Curves[0].Points[0].NormalizedPerformance = 0 }, []string{"normalizedPerformance: Invalid value: 0"}},
		{"performance is a slowdown", func(p *profile) { p.Spec.Curves[0].Points[0].NormalizedPerformance = 1.7 }, []string{"normalizedPerformance: Invalid value: 1.7"}},
		{"repeats", func(p *profile) { p.Spec.Curves[0].Points[0].Repeats = 0 }, []string{"repeats: Invalid value: 0", "spread: Invalid"}},
		{"phases", func(p *profile) { p.Spec.Phases[0].TimeShare = 0.5 }, []string{"spec.phases: Invalid value: 1.1666667: want time shares that add up to 1"}},
		{"phase share", func(p *profile) { p.Spec.Phases[0].TimeShare = -1 }, []string{"spec.phases[0].timeShare: Invalid", "spec.phases: Invalid"}},
		{"communication of nothing", func(p *profile) { p.Spec.Communication = &v1alpha1.Communication{Source: "declared"} }, []string{"spec.communication: Required value: want sentBytesPerSecond"}},
		{"communication source", func(p *profile) { p.Spec.Communication.Source = "guessed" }, []string{`spec.communication.source: Unsupported value: "guessed"`}},
		{"communication rates", func(p *profile) {
			p.Spec.Communication.SentBytesPerSecond, p.Spec.Communication.ReceivedBytesPerSecond = new(-1.0), new(inf)
		}, []string{"sentBytesPerSecond: Invalid value: -1", "receivedBytesPerSecond: Invalid"}},
		{"message", func(p *profile) { p.Spec.Communication.MessageBytes = new(int64(0)) }, []string{"messageBytes: Invalid value: 0"}},
		{"measured never", func(p *profile) { p.Spec.Communication.Repeats = 0 }, []string{"relativeSpread: Invalid", "repeats: Invalid value: 0: want the number"}},
		{"declared yet repeated", func(p *profile) { p.Spec.Communication.Source = "declared" }, []string{"repeats: Invalid value: 3: want none"}},
		{"measured apart", func(p *profile) { p.Spec.Communication.Apart = true }, []string{"spec.communication.apart: Invalid value: true"}},
		{"everything at once", func(p *profile) { p.Spec = v1alpha1.ApplicationProfileSpec{} }, []string{
			"spec.machine.name", "spec.solo.seconds", "spec.solo.repeats", "spec.contentiousness.source", "spec.curves",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := soundApplication()
			tt.spoil(p)
			checkFaults(t, p, tt.want)
		})
	}
}

func TestMachineFaults(t *testing.T) {
	type profile = v1alpha1.MachineProfile
	tests := []struct {
		name  string
		spoil func(p *profile)
		want  []string
	}{
		{"kind", func(p *profile) { p.Kind = "Node" }, []string{"kind: Unsupported"}},
		{"counts", func(p *profile) { p.Spec.Sockets, p.Spec.NUMANodes, p.Spec.CPUs = 0, -1, 0 }, []string{"spec.sockets: Invalid", "spec.numaNodes: Invalid", "spec.cpus: Invalid"}},
		{"warning about capabilities", func(p *profile) { p.Spec.Capability.Warnings[0] = "\x1b[2J" }, []string{"spec.capability.warnings[0]"}},
		{"sizes", func(p *profile) { p.Spec.LastLevelCacheBytes, p.Spec.MemoryBytes = -1, -1 }, []string{"lastLevelCacheBytes: Invalid", "memoryBytes: Invalid"}},
		{"link", func(p *profile) { p.Spec.Link = "long" }, []string{`spec.link: Unsupported value: "long": supported values: "none", "own", "shared"`}},
		{"network model", func(p *profile) { p.Spec.Network.Model = "token-ring" }, []string{`spec.network.model: Unsupported value: "token-ring"`}},
		{"network in GB/s", func(p *profile) { p.Spec.Network.BytesPerSecond = 1.25 }, []string{"spec.network.bytesPerSecond: Invalid value: 1.25: want bytes per second"}},
		{"network latency", func(p *profile) { p.Spec.Network.LatencySeconds = new(-1.0) }, []string{"spec.network.latencySeconds: Invalid"}},
		{"network without parameters", func(p *profile) { p.Spec.Network.Beta, p.Spec.Network.GammaIn = nil, nil }, []string{"spec.network.beta: Required", "spec.network.gammaIn: Required"}},
		{"network parameters", func(p *profile) { p.Spec.Network.Beta, p.Spec.Network.GammaOut = new(0.0), new(math.NaN()) }, []string{"beta: Invalid value: 0", "gammaOut: Invalid value: NaN"}},
		{"parameters of another network", func(p *profile) { p.Spec.Network.Model = "myrinet" }, []string{"beta: Invalid", "gammaOut: Invalid", "gammaIn: Invalid"}},
		{"bus sharing", func(p *profile) { p.Spec.BusSharing = &v1alpha1.BusSharing{} }, []string{
			"spec.busSharing.nodesPerSocket", "local.communicationAloneBytesPerSecond", "local.leastCommunicationShare", "local.computationPerCoreBytesPerSecond", "local.computationAloneBytesPerSecond",
			"local.computationAloneCores", "local.totalBytesPerSecond", "local.totalCores", "local.totalAtComputationAloneCoresBytesPerSecond",
		}},
		{"bus sharing of another socket", func(p *profile) { p.Spec.BusSharing.Remote.LeastCommunicationShare = 2 }, []string{"spec.busSharing.remote.leastCommunicationShare: Invalid value: 2"}},
		{"bus sharing that starves", func(p *profile) { p.Spec.BusSharing.Local.LeastCommunicationShare = 0 }, []string{"spec.busSharing.local.leastCommunicationShare: Invalid value: 0: want a share above 0"}},
		{"nothing sustained", func(p *profile) { p.Spec.Sustained = nil }, []string{"spec.sustained: Required"}},
		{"sustained in GB/s", func(p *profile) { p.Spec.Sustained[0].BytesPerSecond = 21 }, []string{"spec.sustained[0].bytesPerSecond: Invalid value: 21: want bytes per second, 1e3 to 1e13 (is this in GB/s?)"}},
		{"sustained twice", func(p *profile) { p.Spec.Sustained[1] = p.Spec.Sustained[0] }, []string{"spec.sustained[1]: Duplicate"}},
		{"probe", func(p *profile) { p.Spec.ProbeMap[0].Probe = "writer" }, []string{"spec.probeMap[0].probe: Unsupported"}},
		{"probe twice", func(p *profile) { p.Spec.ProbeMap = append(p.Spec.ProbeMap, p.Spec.ProbeMap[0]) }, []string{"spec.probeMap[1]: Duplicate"}},
		{"probe numbers", func(p *profile) {
			p.Spec.ProbeMap[0] = v1alpha1.ProbePoint{Probe: "reader", ReadShare: 2, AchievedBytesPerSecond: math.Inf(1)}
		}, []string{"readShare", "level", "interfererBytesPerSecond", "achievedBytesPerSecond", "relativeSpeed", "repeats"}},
		{"capability without source", func(p *profile) { p.Spec.Capability.Source = "" }, []string{"spec.capability.source: Required"}},
		{"place", func(p *profile) { p.Spec.Capability.Latencies[0].Place = "L1" }, []string{"spec.capability.latencies[0].place: Unsupported"}},
		{"line state", func(p *profile) { p.Spec.Capability.Latencies[0].State = "M" }, []string{"spec.capability.latencies[0].state: Unsupported"}},
		{"latency", func(p *profile) { p.Spec.Capability.Latencies[0].Nanoseconds = math.NaN() }, []string{"spec.capability.latencies[0].nanoseconds"}},
		{"latency range", func(p *profile) { p.Spec.Capability.Latencies[1].LowNanoseconds = new(115.0) }, []string{"spec.capability.latencies[1].lowNanoseconds"}},
		{"latency twice", func(p *profile) { p.Spec.Capability.Latencies[1] = p.Spec.Capability.Latencies[0] }, []string{"spec.capability.latencies[1]: Duplicate"}},
		{"contention", func(p *profile) { p.Spec.Capability.Contention.PerThreadNanoseconds = -1 }, []string{"spec.capability.contention.perThreadNanoseconds"}},
		{"interval", func(p *profile) { p.Spec.Capability.Latencies[0].RelativeInterval = new(-0.1) }, []string{"spec.capability.latencies[0].relativeInterval"}},
		{"access", func(p *profile) { p.Spec.Capability.Bandwidths[0].Access = "scale" }, []string{"spec.capability.bandwidths[0].access: Unsupported"}},
		{"access in GB/s", func(p *profile) { p.Spec.Capability.Bandwidths[0].BytesPerSecond = 70 }, []string{"spec.capability.bandwidths[0].bytesPerSecond"}},
		{"NUMA node", func(p *profile) { p.Spec.Capability.Bandwidths[1].MemoryNode = new(-1) }, []string{"spec.capability.bandwidths[1].memoryNode"}},
		{"bandwidth of a pair of nodes twice", func(p *profile) {
			p.Spec.Capability.Bandwidths = append(p.Spec.Capability.Bandwidths, p.Spec.Capability.Bandwidths[1])
		}, []string{"spec.capability.bandwidths[2]: Duplicate"}},
		{"warning about capabilities", func(p *profile) { p.Spec.Capability.Warnings[0] = "\x1b[2J" }, []string{"spec.capability.warnings[0]"}},
		{"sizes", func(p *profile) { p.Spec.Capability.LatenciesBySize[1].Bytes = 16 << 10 }, []string{"spec.capability.latenciesBySize[1].bytes"}},
		{"no size", func(p *profile) { p.Spec.Capability.LatenciesBySize[0].Bytes = 0 }, []string{"spec.capability.latenciesBySize[0].bytes"}},
		{"interval of the contention", func(p *profile) {
			p.Spec.Capability.Contention.BaseIntervalNanoseconds = new(math.NaN())
		}, []string{"spec.capability.contention.baseIntervalNanoseconds"}},
		{"readers", func(p *profile) { p.Spec.Capability.ContentionPoints[0] = v1alpha1.ContentionPoint{} }, []string{
			"spec.capability.contentionPoints[0].threads", "spec.capability.contentionPoints[0].nanoseconds",
		}},
		{"transfer", func(p *profile) { p.Spec.Capability.Transfers[0] = v1alpha1.LinesTransfer{PerLineNanoseconds: -1} }, []string{
			"transfers[0].place", "transfers[0].state", "transfers[0].access", "transfers[0].perLineNanoseconds",
		}},
		{"transfer twice", func(p *profile) {
			p.Spec.Capability.Transfers = append(p.Spec.Capability.Transfers, p.Spec.Capability.Transfers[0])
		}, []string{"spec.capability.transfers[1]: Duplicate"}},
		{"lines", func(p *profile) { p.Spec.Capability.Transfers[0].Points[0].Lines = 0 }, []string{"transfers[0].points[0].lines"}},
		{"load", func(p *profile) {
			p.Spec.Capability.LoadedLatencies[0] = v1alpha1.LoadedLatency{ReadShare: 2, Nanoseconds: 1}
		}, []string{"loadedLatencies[0].streamingThreads", "loadedLatencies[0].readShare", "loadedLatencies[0].level", "loadedLatencies[0].bytesPerSecond"}},
		{"probe map length", func(p *profile) { p.Spec.ProbeMap = make([]v1alpha1.ProbePoint, 4097) }, []string{"spec.probeMap: Too many"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := soundMachine()
			tt.spoil(m)
			checkFaults(t, m, tt.want)
		})
	}
}

func checkFaults(t *testing.T, o v1alpha1.Object, want []string) {
	t.Helper()
	faults := o.Validate()
	if len(faults) != len(want) {
		t.Fatalf("%d faults, want %d: %v", len(faults), len(want), faults.ToAggregate())
	}
	for i, part := range want {
		if !strings.Contains(faults[i].Error(), part) {
			t.Errorf("fault %d is %q, want it to contain %q", i, faults[i], part)
		}
	}
	if _, err := v1alpha1.Encode(o); err == nil {
		t.Error("an invalid profile was encoded")
	}
}
