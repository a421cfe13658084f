package advise

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"bandmate.dev/bandmate/advisor"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/predictor"
)

// predictionFlags say which profiles to predict from, how, and what may not be
// exceeded.
type predictionFlags struct {
	method, machine string
	limit           cli.Limit
}

// add defines the flags; the commands differ in what the limit does.
func (f *predictionFlags) add(flags *pflag.FlagSet, limitUsage string) {
	f.addMethod(flags)
	flags.StringVar(&f.machine, "machine", "", "predict for this machine; profiles of other machines are transferred to it (default: the only one)")
	f.limit.Add(flags, "max-slowdown", limitUsage)
}

func (f *predictionFlags) addMethod(flags *pflag.FlagSet) {
	flags.StringVar(&f.method, "method", string(predictor.Default), "how to predict: "+joinMethods(predictor.Methods()))
}

// joinMethods lists the methods for help texts.
func joinMethods(methods []predictor.Method) string {
	var names []string
	for _, m := range methods {
		names = append(names, string(m))
	}
	return strings.Join(names, ", ")
}

func (f *predictionFlags) parse() (predictor.Method, error) {
	m, err := predictor.ParseMethod(f.method)
	if err != nil {
		return "", cli.UsageError(fmt.Errorf("--method: %w", err))
	}
	return m, f.limit.Check()
}

// selected returns the named applications, or all of the store, and what is wrong with
// profiles of the store. Groups of more than mostCalibrated applications predict from
// curves alone.
func (f *predictionFlags) selected(ctx context.Context, a *cli.App, names []string, mostCalibrated int) (g *advisor.Group, faults []error, err error) {
	method, err := f.parse()
	if err != nil {
		return nil, nil, err
	}
	known, err := a.LoadAdvisor()
	if err != nil {
		return nil, nil, err
	}
	entries, faults, err := known.Select(names, f.machine)
	if err != nil {
		return nil, nil, err
	}
	faults = slices.Concat(known.Broken(), faults)
	if method == predictor.Default && len(entries) > mostCalibrated {
		return &advisor.Group{Method: method, Entries: entries}, faults, nil
	}
	g, err = known.Group(ctx, entries, method)
	return g, faults, err
}

// choose returns the named applications, to be predicted as the flags say, and what is
// wrong with profiles of the store: any may be missing from the model of the memory.
func (f *predictionFlags) choose(ctx context.Context, a *cli.App, names []string) (g *advisor.Group, faults []error, err error) {
	return f.selected(ctx, a, names, len(names))
}

// texts are those of errors.
func texts(faults []error) []string {
	all := make([]string, len(faults))
	for i, fault := range faults {
		all[i] = fault.Error()
	}
	return all
}
