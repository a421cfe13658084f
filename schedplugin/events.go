package schedplugin

import (
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

// reportInvalid writes the event of a fault once for a pod, which is tried again and
// again while it is pending.
func (p *Plugin) reportInvalid(pod *v1.Pod, fault error) {
	if !p.pods.firstFault(pod) {
		return
	}
	note := fault.Error() + "; it is ignored"
	if p.args.InvalidAnnotations == config.InvalidRejected {
		note = fault.Error() + "; the pod stays pending until it is corrected"
	}
	p.event(pod, v1.EventTypeWarning, reasonInvalid, shorten(note))
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
