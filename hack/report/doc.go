// Package report tests the page of `bandmate report`: its predictor against the
// Go one, and, in a browser, everything else.
package report
