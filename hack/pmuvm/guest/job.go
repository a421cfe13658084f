package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"bandmate.dev/bandmate/hack/pmuvm/fakepmu"
)

// job is what the virtual machine was started for: the files that
// hack/pmu-vm.sh writes, named like its options.
type job struct {
	args          []string // the program and its arguments
	pmus          string
	rates         []fakepmu.Line
	moduleOptions string
	user          bool
	paranoid      int
	before        []fakepmu.Step
}

func readJob(dir fs.FS) (job, error) {
	var faults []error
	text := func(name string) string {
		data, err := fs.ReadFile(dir, name)
		faults = append(faults, err)
		return string(data)
	}
	failed := func(name string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("--%s: %w", name, err))
		}
	}
	j := job{
		args:          strings.Split(strings.TrimSuffix(text("args"), "\x00"), "\x00"),
		pmus:          text("pmus"),
		moduleOptions: text("module_options"),
		user:          text("user") != "",
	}
	var err error
	j.rates, err = fakepmu.ParseLines(text("rates"))
	failed("rates", err)
	if len(j.rates) > 0 && j.pmus == "" {
		failed("rates", errors.New("without --pmus"))
	}
	j.paranoid, err = strconv.Atoi(text("paranoid"))
	failed("paranoid", err)
	j.before, err = fakepmu.ParseSteps(strings.Fields(text("before")))
	failed("before", err)
	return j, errors.Join(faults...)
}
