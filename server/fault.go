package server

import (
	"errors"
	"fmt"
	"net/http"

	"bandmate.dev/bandmate/advisor"
	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/report"
	"bandmate.dev/bandmate/service"
)

// Fault is something wrong with a part of a request.
type Fault struct {
	// Field is the parameter that is meant; empty for the request as a whole.
	Field string
	Err   error
}

func (f *Fault) Error() string {
	if f.Field == "" {
		return f.Err.Error()
	}
	return fmt.Sprintf("%s: %v", f.Field, f.Err)
}

func (f *Fault) Unwrap() error { return f.Err }

func faultf(field, format string, args ...any) *Fault {
	return &Fault{field, fmt.Errorf(format, args...)}
}

// refusal is the body of every answer that is an error.
type refusal struct {
	Errors []refusalEntry `json:"errors"`
}

type refusalEntry struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// problem is an error with the status that goes with it.
type problem struct {
	status int
	faults []*Fault
}

func (p *problem) Error() string {
	all := make([]error, len(p.faults))
	for i, f := range p.faults {
		all[i] = f
	}
	return errors.Join(all...).Error()
}

func problemf(status int, format string, args ...any) *problem {
	return &problem{status, []*Fault{faultf("", format, args...)}}
}

// problemOf is the one place that maps errors to statuses.
func problemOf(err error) *problem {
	if p := (*problem)(nil); errors.As(err, &p) {
		return p
	}
	fault := &Fault{Err: err}
	if f := (*Fault)(nil); errors.As(err, &f) {
		fault = f
	}
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, v1alpha1.ErrNotFound):
		status = http.StatusNotFound
	case errors.Is(err, v1alpha1.ErrAmbiguous), errors.Is(err, advisor.ErrUnusable), errors.Is(err, predictor.ErrNoCurves), errors.Is(err, predictor.ErrNoContentiousness), errors.Is(err, service.ErrNoSweep):
		status = http.StatusUnprocessableEntity
	}
	return &problem{status, []*Fault{fault}}
}

func (p *problem) body() refusal {
	var b refusal
	for _, f := range p.faults {
		b.Errors = append(b.Errors, refusalEntry{f.Field, report.SanitizeText(f.Err.Error())})
	}
	return b
}
