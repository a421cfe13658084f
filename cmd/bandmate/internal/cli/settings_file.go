package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
)

// readSettings returns what the settings file says, by keyOf. found is false where
// there is none.
func (a *App) readSettings(root *cobra.Command) (values map[string]setting, found bool, err error) {
	path, chosen := a.ConfigPath()
	file, err := os.Open(path)
	if err != nil && !chosen && (path == "" || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("configuration: %w: name another file with --config, or none with --config /dev/null", err)
	}
	defer file.Close()
	r := settingsReader{file: path, known: map[string]bool{"apiVersion": true, "kind": true}, values: map[string]setting{}}
	r.learn(root)
	if err := r.read(file); err != nil {
		return nil, false, fmt.Errorf("configuration: %w", err)
	}
	return r.values, true, nil
}

type settingsReader struct {
	file string
	// known has the keys of flags, and those of sections, which end with a dot.
	known  map[string]bool
	values map[string]setting
	faults []error
}

// learn adds the keys of cmd and of the commands below it. A section may set the flags
// of all commands below its own.
func (r *settingsReader) learn(cmd *cobra.Command) {
	r.known[keyOf(cmd, "")] = true
	add := func(f *pflag.Flag) {
		for at := cmd; at != nil && isSetting(f); at = at.Parent() {
			r.known[keyOf(at, f.Name)] = true
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	for _, child := range cmd.Commands() {
		if !unsettled(child) {
			r.learn(child)
		}
	}
}

// read reports every fault with its place. An empty file sets nothing.
func (r *settingsReader) read(from io.Reader) error {
	decoder := yaml.NewDecoder(from)
	var document, more yaml.Node
	err := decoder.Decode(&document)
	if err == nil {
		r.section("", document.Content[0])
		for _, want := range [][2]string{{"apiVersion", v1alpha1.APIVersion}, {"kind", "Configuration"}} {
			if strings.Join(r.values[want[0]].texts, ",") != want[1] {
				r.fault(document.Content[0], "want %s: %s", want[0], want[1])
			}
		}
		if err = decoder.Decode(&more); err == nil {
			r.fault(&more, "more than one document: want one")
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", r.file, err)
	}
	return errors.Join(r.faults...)
}

func (r *settingsReader) place(n *yaml.Node) string {
	return fmt.Sprintf("%s:%d:%d", r.file, n.Line, n.Column)
}

func (r *settingsReader) fault(at *yaml.Node, format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf("%s: %s", r.place(at), fmt.Sprintf(format, args...)))
}

// section reads the keys of a section. A name such as machine is a section if it has
// keys below it, else a flag.
func (r *settingsReader) section(section string, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		r.fault(n, "want flags and commands, one on a line, such as quiet: true")
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, content := n.Content[i], n.Content[i+1]
		key := section + name.Value
		switch _, twice := r.values[key]; {
		case twice:
			r.fault(name, "%q appears twice", name.Value)
		case r.known[key+"."] && content.Kind == yaml.MappingNode:
			r.section(key+".", content)
		case r.known[key]:
			r.value(key, content)
		default:
			r.fault(name, "%q: no flag of that name: see bandmate %s--help", name.Value, strings.ReplaceAll(section, ".", " "))
		}
	}
}

// value reads a scalar or a list of scalars.
func (r *settingsReader) value(key string, n *yaml.Node) {
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	s := setting{from: fromFile, place: r.place(n)}
	for _, item := range items {
		if item.Kind == yaml.ScalarNode && item.ShortTag() != "!!null" {
			s.texts = append(s.texts, item.Value)
		}
	}
	if len(s.texts) == 0 || len(s.texts) < len(items) {
		r.fault(n, "%s: want a value, or a list of values", key)
	}
	r.values[key] = s
}
