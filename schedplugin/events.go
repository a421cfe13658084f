package schedplugin

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"bandmate.dev/bandmate/schedplugin/config"
)

// Reasons of the events that the plugin writes on pods.
const (
	reasonPredicted = "SlowdownPredicted"
	reasonInvalid   = "InvalidBandmateAnnotation"
	// reasonLimit is that of a pod that limits keep pending.
	reasonLimit = "LimitKeepsPending"
	// reasonExceeded and reasonUnverifiable are those of a running pod with a limit.
	reasonExceeded     = "SlowdownLimitExceeded"
	reasonUnverifiable = "SlowdownLimitUnverifiable"
)

// action is what the scheduler is doing when it writes an event.
const action = "Scheduling"

// event writes an event on a pod. The recorder queues it and does not block.
func (p *Plugin) event(pod *v1.Pod, kind, reason, note string) {
	if recorder := p.handle.EventRecorder(); recorder != nil {
		recorder.Eventf(pod, nil, kind, reason, action, "%s", note)
	}
}

// reportInvalid writes the events of the faults of a pod, once until its annotations
// change: a pending pod is tried, and a running one is audited, again and again.
func (p *Plugin) reportInvalid(pod *v1.Pod, faults []error) {
	if len(faults) == 0 || !p.pods.firstFault(pod) {
		return
	}
	consequence := "; it is ignored"
	if p.args.InvalidAnnotations == config.InvalidRejected && pod.Spec.NodeName == "" {
		consequence = "; the pod stays pending until it is corrected"
	}
	texts := make([]string, len(faults))
	for i, fault := range faults {
		texts[i] = fault.Error()
	}
	p.event(pod, v1.EventTypeWarning, reasonInvalid, shorten(strings.Join(texts, ", ")+consequence))
}

// mostNote is the longest note that the API accepts.
const mostNote = 1024

// shorten cuts a note to what the API accepts, between characters.
func shorten(note string) string {
	if len(note) <= mostNote {
		return note
	}
	const mark = "…"
	cut := mostNote - len(mark)
	for cut > 0 && note[cut]&0xC0 == 0x80 {
		cut--
	}
	return note[:cut] + mark
}
