package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"bandmate.dev/bandmate/cmd/bandmate/internal/scripttest"
)

func TestMain(m *testing.M) { scripttest.Main(m, nil) }

// TestScripts runs the command line as a user does: output, standard error,
// exit code. The scripts that measure applications are in internal/measure.
func TestScripts(t *testing.T) { testscript.Run(t, scripttest.Params()) }
