package server

// descriptions are of every field that is sent, by type and name in JSON.
var descriptions = map[string]string{
	"Health.status":  "Always ok: a server that does not run says nothing.",
	"Health.version": "The version of Bandmate.",

	"Refusal.errors":       "Everything that is wrong with the request.",
	"RefusalEntry.field":   "The parameter that is meant; empty for the request as a whole.",
	"RefusalEntry.message": "What is wrong and what would help.",

	"Prediction.target":                     "The application that was asked about.",
	"Prediction.extrapolatedBytesPerSecond": "By how much the neighbors' traffic exceeds the highest pressure that the target was measured at; absent where it does not.",
	"Prediction.corunners":                  "Its neighbors.",
	"Prediction.pressure":                   "The sum of the neighbors' contentiousness.",
	"Prediction.normalizedPerformance":      "Solo time ÷ co-run time of the target, above 0 to 1.",
	"Prediction.slowdown":                   "Co-run time ÷ solo time of the target, 1 or more.",
	"Prediction.interval":                   "Holds the slowdown with a probability of 90%.",
	"Prediction.method":                     "How it was predicted.",
	"Prediction.basis":                      "What the default method predicted from: memory-model, or curves; absent for the others.",
	"Prediction.warnings":                   "What may be doubted.",
	"Prediction.corunnerSlowdowns":          "The slowdowns of the neighbors by name, each beside the target and the other neighbors; absent for one that cannot be predicted.",
	"Prediction.parts":                      "What the slowdown is made of where the target communicates; absent where the profile says nothing of that.",
	"Prediction.explanation":                "How it came about; present when asked for.",

	"ServicePrediction.service":          "How the target fares as a service; absent where its load is not said.",
	"ServicePrediction.corunnerServices": "How the neighbors fare whose load is said, by name.",

	"Answer.load":             "Requests per second, as the saturations are.",
	"Answer.p99AloneSeconds":  "The 99th percentile of the latency alone; absent where the load is above saturation, or no latencies were measured.",
	"Answer.p99BesideSeconds": "The same beside the others; absent as well where the load is above saturation there.",
	"Answer.p99Interval":      "Holds it with a probability of 90%.",
	"Answer.maxP99Seconds":    "The limit that was asked about; absent without one.",
	"Answer.kept":             "Whether p99 beside the others stays within it; absent where no latencies were measured.",
	"Answer.saturationAlone":  "The highest rate of answers alone.",
	"Answer.saturationBeside": "The highest rate of answers beside the others.",
	"Answer.warnings":         "What may be doubted.",

	"LatencyInterval.low":  "The lower end, in seconds.",
	"LatencyInterval.high": "The upper end, in seconds; absent where the service may be saturated.",

	"Shown.memorySlowdown":     "The slowdown by memory traffic.",
	"Shown.communicationShare": "The part of the run alone that communication takes; absent where the network is not known.",
	"Shown.cardPenalty":        "The time of the communication beside that of others ÷ without; absent where it is not known.",
	"Shown.busLoss":            "The bandwidth of the communication on the bus without the others ÷ beside them; absent where the curves hold it.",
	"Shown.overlapped":         "Whether the application computes meanwhile.",
	"Shown.equation":           "How they make up the slowdown.",

	"Pressure.bytesPerSecond": "Total of reads and writes at the memory controller.",
	"Pressure.readShare":      "The traffic-weighted read share, 0 to 1; absent without traffic.",

	"Interval.low":  "The lower end, a slowdown.",
	"Interval.high": "The upper end, a slowdown.",

	"Explanation.equation":   "The formula with its numbers filled in.",
	"Explanation.readings":   "The curves that were read, and where.",
	"Explanation.iterations": "The steps toward the fixed point; absent where none were taken.",

	"Iteration.normalizedPerformance": "Of the target and its neighbors, in order of name.",

	"Reading.readShare":             "The read share of the curve, 0 to 1.",
	"Reading.kind":                  "How the curve was drawn.",
	"Reading.weight":                "The part of this curve in the result, 0 to 1.",
	"Reading.actualBytesPerSecond":  "The neighbors' traffic beside the target; absent where the method does not ask for it.",
	"Reading.bytesPerSecond":        "Where the curve was read: what the interferer reaches alone.",
	"Reading.segment":               "The two measured neighbors of that place.",
	"Reading.normalizedPerformance": "What the curve gives there.",

	"SegmentPoint.bytesPerSecond":        "What the interferer reaches alone.",
	"SegmentPoint.normalizedPerformance": "The performance measured beside it.",

	"Matrix.method":         "How it was predicted.",
	"Matrix.basis":          "What the default method rests on for the pairs shown: memory-model, curves, or mixed where it depends on the pair; absent for the others.",
	"Matrix.total":          "How many applications the whole matrix has.",
	"Matrix.offset":         "The place of the first target shown.",
	"Matrix.corunnerOffset": "The place of the first co-runner shown.",
	"Matrix.targets":        "The rows: who suffers; NAME@MACHINE where several machines have a profile.",
	"Matrix.corunners":      "The columns: who causes; NAME@MACHINE where several machines have a profile.",
	"Matrix.slowdowns":      "By row and column; null where it is not known.",
	"Matrix.warnings":       "What may be doubted, and profiles that could not be read.",

	"ApplicationList.applications": "In order of name and machine.",
	"ApplicationList.total":        "How many there are in all.",
	"ApplicationList.offset":       "The place of the first one shown.",
	"ApplicationList.warnings":     "Profiles that could not be read.",

	"Application.name":                "The name of the application.",
	"Application.machine":             "Where it was measured.",
	"Application.readBytesPerSecond":  "Read traffic alone; absent where it is unknown.",
	"Application.writeBytesPerSecond": "Write traffic alone; absent where it is unknown.",
	"Application.source":              "How the traffic was found.",
	"Application.soloSeconds":         "How long a run takes alone.",
	"Application.soloRepeats":         "How many runs that is of.",
	"Application.measured":            "When, in RFC 3339; absent where the profile does not say.",
	"Application.curves":              "Its sensitivity curves, in short.",
	"Application.warnings":            "What may be doubted about the profile.",

	"Curve.readShare": "The read share of the interferer, 0 to 1.",
	"Curve.pattern":   "The access pattern of the interferer; absent where it was sequential.",
	"Curve.points":    "How many points it has.",
	"Curve.worst":     "The highest slowdown of its points.",

	"MachineList.machines": "In order of name.",
	"MachineList.warnings": "Profiles that could not be read.",

	"Machine.name":                "The name of the machine.",
	"Machine.cpuModel":            "What its CPUs call themselves.",
	"Machine.sockets":             "How many sockets it has.",
	"Machine.numaNodes":           "How many NUMA nodes it has.",
	"Machine.cpus":                "How many CPUs it has.",
	"Machine.lastLevelCacheBytes": "The size of a last-level cache; absent where it is unknown.",
	"Machine.memoryBytes":         "Its memory; absent where it is unknown.",
	"Machine.virtualMachine":      "Whether it is a virtual machine.",
	"Machine.sustained":           "The highest bandwidth of the interferer alone, per read share.",
	"Machine.warnings":            "What may be doubted about the profile.",

	"Sustained.readShare":      "The read share, 0 to 1.",
	"Sustained.pattern":        "The access pattern; absent where it was sequential.",
	"Sustained.bytesPerSecond": "The bandwidth at the memory controller.",
	"Sustained.relativeSpread": "The standard deviation of repeats ÷ the bandwidth; absent where it is unknown.",
}
