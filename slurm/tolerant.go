package slurm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// The types below decode what Slurm has written for the same thing in different
// versions. None of them fails: what has another form is taken as not told, so
// that a new release cannot stop everything over a field that nobody needs.

// number is a count, an id or a time. Slurm 22.05 writes 5 or null, since 23.02
// (data_parser v0.0.39) also {"set": true, "infinite": false, "number": 5}.
type number struct {
	value    int64
	set      bool
	infinite bool
}

// Slurm's reserved values (slurm/slurm.h: NO_VAL, INFINITE and their 64-bit
// forms) where a version writes them as they are.
const (
	noVal      = 0xfffffffe
	infinite   = 0xffffffff
	noVal64    = 0xfffffffffffffffe
	infinite64 = 0xffffffffffffffff
)

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(data []byte) error {
	*n = number{}
	if len(data) == 0 {
		return nil
	}
	if data[0] != '{' {
		n.parse(strings.Trim(string(data), `"`))
		return nil
	}
	var object struct {
		Set      *bool           `json:"set"`
		Infinite bool            `json:"infinite"`
		Number   json.RawMessage `json:"number"`
	}
	_ = json.Unmarshal(data, &object) // another form is as good as none
	n.parse(strings.Trim(string(object.Number), `"`))
	n.infinite = n.infinite || object.Infinite
	n.set = (n.set || n.infinite) && (object.Set == nil || *object.Set || object.Infinite)
	if !n.set || n.infinite {
		n.value = 0
	}
	return nil
}

func (n *number) parse(digits string) {
	if u, err := strconv.ParseUint(digits, 10, 64); err == nil {
		switch u {
		case noVal, noVal64:
			return
		case infinite, infinite64:
			n.set, n.infinite = true, true
			return
		}
		if u <= math.MaxInt64 {
			n.set, n.value = true, int64(u)
		}
		return
	}
	// Numbers that other tools have rewritten as 5.0 or 1e3.
	if f, err := strconv.ParseFloat(digits, 64); err == nil && f >= 0 && f < 1<<53 {
		n.set, n.value = true, int64(f)
	}
}

// count returns the number as an int, 0 when it was not told or cannot be one.
func (n *number) count() int {
	if !n.set || n.infinite || n.value > math.MaxInt32 {
		return 0
	}
	return int(n.value)
}

// moment returns the number as seconds since 1970, the zero time for 0.
func (n *number) moment() time.Time {
	if !n.set || n.infinite || n.value == 0 {
		return time.Time{}
	}
	return time.Unix(n.value, 0)
}

// minutes returns the number as minutes, 0 when unlimited or not told.
func (n *number) minutes() time.Duration {
	const most = int64(math.MaxInt64 / time.Minute)
	if !n.set || n.infinite || n.value > most {
		return 0
	}
	return time.Duration(n.value) * time.Minute
}

// words is a text, or a list of texts: states and flags are a string in 22.05 and
// an array later; true and false count as words too.
type words []string

// UnmarshalJSON implements json.Unmarshaler.
func (w *words) UnmarshalJSON(data []byte) error {
	*w = nil
	if len(data) == 0 {
		return nil
	}
	switch data[0] {
	case '[':
		var parts []words
		_ = json.Unmarshal(data, &parts) // another form is as good as none
		for _, p := range parts {
			*w = append(*w, p...)
		}
	case '"':
		var text string
		if json.Unmarshal(data, &text) == nil && text != "" {
			*w = words{text}
		}
	case 't', 'f':
		*w = words{string(data)}
	}
	return nil
}

// text is a string; a number counts as its digits, a list as its words with
// commas, anything else as empty.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(data []byte) error {
	*t = ""
	if len(data) == 0 {
		return nil
	}
	switch c := data[0]; {
	case c == '"', c == '[':
		var w words
		_ = w.UnmarshalJSON(data) // never fails
		*t = text(strings.Join(w, ","))
	case c == '-', c >= '0' && c <= '9':
		*t = text(data)
	}
	return nil
}

// each is a list of T, written as an array, or as an object whose keys are the
// positions: Slurm has done both for nodes, sockets and cores.
type each[T any] []indexed[T]

// indexed is an element with its position.
type indexed[T any] struct {
	index int
	value T
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *each[T]) UnmarshalJSON(data []byte) error {
	*e = nil
	if len(data) == 0 {
		return nil
	}
	switch data[0] {
	case '[':
		var list []T
		_ = json.Unmarshal(data, &list) // another form is as good as none
		for i, v := range list {
			*e = append(*e, indexed[T]{i, v})
		}
	case '{':
		var object map[string]T
		_ = json.Unmarshal(data, &object) // another form is as good as none
		for key, v := range object {
			if i, err := strconv.Atoi(key); err == nil {
				*e = append(*e, indexed[T]{i, v})
			}
		}
	}
	return nil
}

// envelope is what Slurm puts around every answer in JSON.
type envelope struct {
	Meta struct {
		Slurm release `json:"slurm"` // "Slurm" until 23.11; keys match in any case
	} `json:"meta"`
	Errors   each[answerError] `json:"errors"`
	Warnings each[answerError] `json:"warnings"`
}

type release struct {
	Release text `json:"release"`
	Cluster text `json:"cluster"`
}

type answerError struct {
	Error       text `json:"error"`
	Description text `json:"description"`
}

func (e answerError) String() string {
	if e.Description != "" && e.Error != "" {
		return string(e.Error + ": " + e.Description)
	}
	return string(e.Error + e.Description)
}

// decode reads the JSON of a command into v. What comes after the first value is
// ignored: some versions end with text. So is a line such as "CLUSTER: alps" before it,
// which Slurm prints where SLURM_CLUSTERS is set. It copies nothing: of a large cluster the
// JSON takes hundreds of MB.
func decode(command string, data []byte, v any) error {
	if bytes.HasPrefix(data, []byte("CLUSTER: ")) {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	err := json.Unmarshal(data, v)
	var offset int64
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		offset = max(0, syntax.Offset-1)
		if json.Unmarshal(data[:offset], v) == nil {
			return nil
		}
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: its JSON cannot be read after %d of %d bytes: %w: was the output cut off, or is it another program's?",
		command, offset, len(data), err)
}

// firstError returns what the answer itself says went wrong.
func (e *envelope) firstError() string {
	if len(e.Errors) == 0 {
		return ""
	}
	return e.Errors[0].value.String()
}

// failure returns the first error of the answer to a command.
func (e *envelope) failure(command string) error {
	said := fmt.Errorf("%s: %s", command, cmp.Or(e.firstError(), "it failed without a reason"))
	if unreachable(said.Error()) {
		return fmt.Errorf("%w: %w", ErrUnreachable, said)
	}
	return said
}
