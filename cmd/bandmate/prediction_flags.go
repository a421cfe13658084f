package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
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
		return "", usageError{fmt.Errorf("--method: %w", err)}
	}
	if f.limit != 0 && !(f.limit >= 1) {
		return "", usagef("--max-slowdown %v: want 1 or more, such as 1.15", f.limit)
	}
	return m, nil
}

// predictables are the named applications, as profiles and ready to predict.
type predictables struct {
	method   predictor.Method
	profiles []*v1alpha1.ApplicationProfile
	compiled []*predictor.Application
}

// predictables loads what a prediction needs.
func (a *app) predictables(names []string, f predictionFlags) (p predictables, err error) {
	if p.method, err = f.parse(); err != nil {
		return p, err
	}
	s, err := a.open()
	if err != nil {
		return p, err
	}
	if p.profiles, err = loadForPrediction(s, names, f.machine); err != nil {
		return p, err
	}
	p.compiled, err = compileAll(p.profiles)
	return p, err
}
