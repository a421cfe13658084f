package page

import (
	"crypto/sha256"
	_ "embed" // the parts of the page
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"

	"bandmate.dev/bandmate/units"
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

// perPart is how many applications each part of the page holds. The page reads a part
// when it shows something of one of them: a report of thousands opens quickly.
const perPart = 25

// carriedData is Data as the page carries it: the applications as a list, and all that is
// known of them in parts.
type carriedData struct {
	Data
	Applications []listed `json:"applications"`
	PerPart      int      `json:"perPart"`
}

// listed is what the page has to know of all applications: their names, what orders them,
// whether they can be predicted and whether they are services.
type listed struct {
	Name      string           `json:"name"`
	Machine   string           `json:"machine"`
	Read      *units.Bandwidth `json:"readBytesPerSecond,omitempty"`
	Write     *units.Bandwidth `json:"writeBytesPerSecond,omitempty"`
	Suffers   *float64         `json:"suffers,omitempty"`
	Causes    *float64         `json:"causes,omitempty"`
	Sensitive bool             `json:"sensitive,omitempty"`
	// Saturation is that of a service.
	Saturation *float64 `json:"saturationRequestsPerSecond,omitempty"`
	// SharesCache is true where a model of a shared cache predicts it, which no table does.
	SharesCache bool `json:"sharesCache,omitempty"`
}

// encode returns d as the page carries it.
func (d Data) encode() (list template.JS, parts []template.JS, err error) {
	carried := carriedData{Data: d, Applications: []listed{}, PerPart: perPart}
	for i := range d.Applications {
		a := &d.Applications[i]
		carried.Applications = append(carried.Applications, listed{a.Name, a.Machine, a.Read, a.Write, a.Suffers, a.Causes, len(a.Fits) > 0, a.Saturation, a.SharesCache})
	}
	if list, err = scriptText(carried); err != nil {
		return "", nil, err
	}
	for some := range slices.Chunk(d.Applications, perPart) {
		part, err := scriptText(some)
		if err != nil {
			return "", nil, err
		}
		parts = append(parts, part)
	}
	return list, parts, nil
}

// scriptText returns v as the text of a script element.
func scriptText(v any) (template.JS, error) {
	// Marshal escapes <, >, & and the line separators of JavaScript, so that
	// nothing in the data can end the script element that holds it.
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("report: encoding the data: %w", err)
	}
	return template.JS(text), nil //nolint:gosec // escaped, and not run
}

// WriteData writes the page that shows d.
func WriteData(w io.Writer, d Data) error {
	list, parts, err := d.encode()
	if err != nil {
		return err
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
		"Data":  list, "Parts": parts,
	})
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
