// Package report checks the page of `bandmate report`: its predictor against the
// Go one, and, with a browser, everything else (see browser).
package report
