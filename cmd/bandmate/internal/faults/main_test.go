// Package faults_test interrupts and kills bandmate at every stage of a measurement, and has it
// meet programs that fail, full disks and missing permissions: each gets one message and the
// right exit code, and nothing is lost, half-written or left running. The tests are apart from
// those of cmd/bandmate because they take minutes.
package faults_test

import (
	"testing"

	"bandmate.dev/bandmate/cmd/bandmate/internal/scripttest"
)

func TestMain(m *testing.M) { scripttest.Main(m, nil) }
