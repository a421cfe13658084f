// Package load generates load for services: requests at random moments of a Poisson
// process, independent of the response times.
//
// A latency counts from the intended start of a request. A generator that waits for a
// slow answer before it sends the next request would leave out just the requests that
// suffer (coordinated omission, Tene).
package load
