// Package server serves the page of `bandmate report`, live, and a JSON API for
// predictions, whose OpenAPI 3.1 document is openapi.json. It is read-only.
//
// It is meant for a loopback interface and trusts no client: host names are checked
// against DNS rebinding, requests are bounded in size, time and number, and no text of
// a profile becomes markup.
package server
