package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"bandmate.dev/bandmate/advisor"
	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/cmd/bandmate/internal/cli"
	"bandmate.dev/bandmate/predictor"
)

// predictionFlags say which profiles to predict from, how, and what may not be
// exceeded.
type predictionFlags struct {
	method, machine string
	// limit is a slowdown; 0 for none.
	limit float64
}

// add defines the flags; the commands differ in what the limit does.
func (f *predictionFlags) add(flags *pflag.FlagSet, limitUsage string) {
	f.addMethod(flags)
	flags.StringVar(&f.machine, "machine", "", "predict for this machine; profiles of other machines are carried over to it (default: the only one)")
	flags.Float64Var(&f.limit, "max-slowdown", 0, limitUsage)
}

func (f *predictionFlags) addMethod(flags *pflag.FlagSet) {
	flags.StringVar(&f.method, "method", string(predictor.Default), "how to predict: "+joinMethods())
}

// joinMethods lists the methods for help texts.
func joinMethods() string {
	var names []string
	for _, m := range predictor.Methods() {
		names = append(names, string(m))
	}
	return strings.Join(names, ", ")
}

func (f *predictionFlags) parse() (predictor.Method, error) {
	m, err := predictor.ParseMethod(f.method)
	if err != nil {
		return "", cli.UsageError(fmt.Errorf("--method: %w", err))
	}
	if f.limit != 0 && !(f.limit >= 1) {
		return "", cli.Usagef("--max-slowdown %v: want 1 or more, such as 1.15", f.limit)
	}
	return m, nil
}

// explainBasis says for people what predictions rest on: the model, or why the
// curves alone.
func explainBasis(profiles []*v1alpha1.ApplicationProfile, why []error, c *advisor.Calibrations) string {
	var reasons []string
	for i, err := range why {
		sensitive := len(profiles[i].Spec.Curves) > 0
		if err != nil && sensitive && !slices.Contains(reasons, err.Error()) {
			reasons = append(reasons, err.Error())
		}
	}
	if len(reasons) > 0 {
		return fmt.Sprintf("%s: %s", predictor.Curves, strings.Join(reasons, "; "))
	}
	fitted, of := c.Fitted(profiles[0])
	return fmt.Sprintf("%s: fitted to %d of %d profiles of this machine", predictor.MemoryModel, fitted, of)
}

// basisOf returns what predictions among the applications rest on: the model where
// it describes all of them that have curves, the curves where it describes none of
// the pairs, and Mixed where it depends on the pair.
func basisOf(compiled []*predictor.Application) predictor.Basis {
	described, alone := 0, 0
	for _, a := range compiled {
		switch sensitive, _ := a.Known(); {
		case a.Described():
			described++
		case sensitive:
			alone++
		}
	}
	switch {
	case alone == 0 && described > 0:
		return predictor.MemoryModel
	case described == 0 || described == 1 && alone > 0:
		return predictor.Curves
	}
	return mixedBasis
}

// mixedBasis is printed where some pairs are predicted by the model of the memory
// and others from their curves.
const mixedBasis predictor.Basis = "mixed"
