// Package server answers over HTTP what the command line answers: the page of
// `bandmate report`, live, and an API in JSON, described by OpenAPI 3.1. It reads
// and never changes anything.
//
// It is meant for a loopback interface and trusts nobody who can reach it: names
// of hosts are checked against DNS rebinding, requests are bounded in size, time
// and number, and nothing that a profile says becomes markup.
package server
