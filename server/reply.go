package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// leastCompressed is the size in bytes from which compression pays.
const leastCompressed = 1 << 10

const (
	typeJSON = "application/json; charset=utf-8"
	typeHTML = "text/html; charset=utf-8"
)

// reply is a whole body, ready to be sent often.
type reply struct {
	contentType, policy string
	tag                 string // of plain
	plain               []byte
	packed              []byte // by gzip; nil where that does not pay
}

// noContent is the content security policy of what is no page.
const noContent = "default-src 'none'; frame-ancestors 'none'"

func newReply(contentType, policy string, body []byte, level int) (reply, error) {
	sum := sha256.Sum256(body)
	// Weak, because compressed or not it is the same.
	r := reply{contentType, policy, `W/"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`, body, nil}
	if len(body) < leastCompressed {
		return r, nil
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, level)
	if err != nil {
		return r, err
	}
	if _, err := w.Write(body); err != nil {
		return r, err
	}
	if err := w.Close(); err != nil {
		return r, err
	}
	r.packed = packed.Bytes()
	return r, nil
}

// newJSONReply encodes as `-o json` does, to the byte.
func newJSONReply(v any) (reply, error) {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return reply{}, fmt.Errorf("encoding the answer: %w", err)
	}
	return newReply(typeJSON, noContent, append(body, '\n'), gzip.BestSpeed)
}

// send answers with r, or with 304 when the client has it already.
func (r reply) send(w http.ResponseWriter, asked *http.Request) {
	h := w.Header()
	h.Set("Content-Type", r.contentType)
	h.Set("Content-Security-Policy", r.policy)
	h.Set("ETag", r.tag)
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	if hasTag(asked.Header.Values("If-None-Match"), r.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := r.plain
	if r.packed != nil && takesGzip(asked.Header.Values("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		body = r.packed
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // who went away is not there to be told
}

// secure sets the security headers of every answer.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", noContent)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

// hasTag reports whether a tag is in the lists of If-None-Match (RFC 9110,
// section 13.1.2), by weak comparison.
func hasTag(lists []string, tag string) bool {
	for _, list := range lists {
		for one := range strings.SplitSeq(list, ",") {
			one = strings.TrimSpace(one)
			if one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
				return true
			}
		}
	}
	return false
}

// takesGzip reads Accept-Encoding (RFC 9110, section 12.5.3).
func takesGzip(lists []string) bool {
	takes := map[string]bool{}
	for _, list := range lists {
		for one := range strings.SplitSeq(list, ",") {
			coding, parameters, _ := strings.Cut(one, ";")
			weight := strings.ReplaceAll(strings.ToLower(parameters), " ", "")
			q, err := strconv.ParseFloat(strings.TrimPrefix(weight, "q="), 64)
			takes[strings.ToLower(strings.TrimSpace(coding))] = weight == "" || err == nil && q > 0
		}
	}
	if is, said := takes["gzip"]; said {
		return is
	}
	return takes["*"]
}
