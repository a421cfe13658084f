// Package checks tests the counter sources inside the virtual machine of
// hack/pmu-vm.sh: first that the pretend PMUs behave like hardware, through
// perf_event_open(2) alone, then the measurements of bandmate.
package checks
