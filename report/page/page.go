package page

import (
	"crypto/sha256"
	_ "embed" // the parts of the page
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
)

var (
	//go:embed page.html
	frame string
	//go:embed page.css
	style string
	//go:embed fast.js
	approximation string
	//go:embed view.js
	view string
)

// Policy returns the content security policy of the page. It permits the page's own
// style and scripts by hash and, if served, requests to the server.
func Policy(served bool) string {
	policy := fmt.Sprintf("default-src 'none'; style-src %s; script-src %s %s; base-uri 'none'; form-action 'none'",
		hash(style), hash(approximation), hash(view))
	if served {
		policy += "; connect-src 'self'"
	}
	return policy
}

// hash is a source expression of CSP level 2.
func hash(part string) string {
	sum := sha256.Sum256([]byte(part))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Write writes the page that shows c. It fails as NewData does, and where w
// does.
func Write(w io.Writer, c Content) error {
	d, err := NewData(c)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return WriteData(w, d)
}

// WriteData writes the page that shows d.
func WriteData(w io.Writer, d Data) error {
	// Marshal escapes <, >, & and the line separators of JavaScript, so that
	// nothing in the data can end the script element that holds it.
	data, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("report: encoding the data: %w", err)
	}
	parsed, err := template.New("page").Parse(frame)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	err = parsed.Execute(w, map[string]any{
		"Policy": Policy(d.Served), "Applications": len(d.Applications), "Generated": d.Generated, "Version": d.Version,
		"Style": template.CSS(style),        //nolint:gosec // a part of the program
		"Fast":  template.JS(approximation), //nolint:gosec // a part of the program
		"View":  template.JS(view),          //nolint:gosec // a part of the program
		"Data":  template.JS(data),          //nolint:gosec // escaped by Marshal, and not run
	})
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
