package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
)

const (
	kindConfiguration = "Configuration"
	// maxConfigurationBytes is far more than all flags of all commands take.
	maxConfigurationBytes = 1 << 20
)

// section is what a configuration file says of a command: values of its flags,
// and sections of the commands below it. A value holds for the commands below
// as well, where these have such a flag and no nearer section says otherwise.
type section struct {
	flags    map[string]fileValue
	commands map[string]*section
}

// fileValue is the value of a flag in a configuration file.
type fileValue struct {
	// texts has one element, or those of a list.
	texts []string
	// place is file:line:column.
	place string
}

// configurationReader reads a file whose structure is that of the commands.
type configurationReader struct {
	file   string
	faults []error
}

// ParseConfiguration reads a configuration file against the commands below
// root. An empty file sets nothing. Reading is strict: every unknown command and
// flag, repeated key, anchor and value of the wrong kind is reported, with its
// file:line:column. Whether a flag takes the value, only setting it tells.
func ParseConfiguration(file string, data []byte, root *cobra.Command) (*section, error) {
	r := &configurationReader{file: file}
	decoder := yaml.NewDecoder(strings.NewReader(string(data)))
	var document, more yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return &section{}, nil
	} else if err != nil {
		return nil, r.syntax(err)
	}
	if err := decoder.Decode(&more); err != nil && !errors.Is(err, io.EOF) {
		return nil, r.syntax(err)
	} else if err == nil {
		return nil, fmt.Errorf("%s: more than one document: want one", r.place(&more))
	}
	content := document.Content[0]
	if content.Kind == yaml.ScalarNode && content.ShortTag() == "!!null" && content.Anchor == "" {
		return &section{}, nil
	}
	s := r.section(content, root)
	if len(r.faults) > 0 {
		return nil, errors.Join(r.faults...)
	}
	return s, nil
}

// syntax puts the line that the parser names where every other fault has it.
func (r *configurationReader) syntax(err error) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		if line, text, ok := strings.Cut(rest, ": "); ok {
			return fmt.Errorf("%s:%s: not YAML: %s", r.file, line, text)
		}
	}
	return fmt.Errorf("%s: not YAML: %s", r.file, message)
}

func (r *configurationReader) place(n *yaml.Node) string {
	return r.file + ":" + strconv.Itoa(n.Line) + ":" + strconv.Itoa(n.Column)
}

func (r *configurationReader) fault(at *yaml.Node, format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf("%s: "+format, append([]any{r.place(at)}, args...)...))
}

// plain refuses what a reader would have to resolve: references and tags.
func (r *configurationReader) plain(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		r.fault(n, "anchors, aliases and tags (&, * and !) are not accepted: write the value out")
		return false
	}
	return true
}

func (r *configurationReader) section(n *yaml.Node, cmd *cobra.Command) *section {
	s := &section{flags: map[string]fileValue{}, commands: map[string]*section{}}
	if !r.plain(n) {
		return s
	}
	if n.Kind != yaml.MappingNode {
		r.fault(n, "want flags and commands of %s, one in a line, such as quiet: true", cmd.CommandPath())
		return s
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case !r.plain(key):
		case key.Kind != yaml.ScalarNode:
			r.fault(key, "want the name of a flag or command")
		case seen[key.Value]:
			r.fault(key, "%q appears twice", key.Value)
		default:
			seen[key.Value] = true
			r.entry(s, cmd, key, value)
		}
	}
	if !cmd.HasParent() {
		r.header(n, seen)
	}
	return s
}

// header wants the kind of file to be said, so that later versions can be told.
func (r *configurationReader) header(n *yaml.Node, seen map[string]bool) {
	if !seen["apiVersion"] || !seen["kind"] {
		r.fault(n, "want apiVersion: %s and kind: %s", v1alpha1.APIVersion, kindConfiguration)
	}
}

// entry reads one line of a section: a flag, a command, or the kind of file.
func (r *configurationReader) entry(s *section, cmd *cobra.Command, key, value *yaml.Node) {
	name := key.Value
	if want := map[string]string{"apiVersion": v1alpha1.APIVersion, "kind": kindConfiguration}[name]; want != "" && !cmd.HasParent() {
		if value.Kind != yaml.ScalarNode || value.Value != want {
			r.fault(value, "%s: want %s", name, want)
		}
		return
	}
	// A name such as machine is a command and a flag of others.
	if child := childNamed(cmd, name); child != nil && value.Kind == yaml.MappingNode {
		s.commands[name] = r.section(value, child)
		return
	}
	if !takesSetting(cmd, name) {
		r.unknown(cmd, key)
		return
	}
	if v, ok := r.value(name, value); ok {
		s.flags[name] = v
	}
}

func (r *configurationReader) unknown(cmd *cobra.Command, key *yaml.Node) {
	switch {
	case !cmd.HasParent() && key.Value == ConfigFlag:
		r.fault(key, "%s: a file cannot name another: give --config or %s", ConfigFlag, VariableOf(nil, ConfigFlag))
	case childNamed(cmd, key.Value) != nil:
		r.fault(key, "%s is a command: want its flags below it", key.Value)
	default:
		r.fault(key, "%q: no flag or command of %s: see %s --help", key.Value, cmd.CommandPath(), cmd.CommandPath())
	}
}

// value reads a scalar or a list of them.
func (r *configurationReader) value(name string, n *yaml.Node) (fileValue, bool) {
	v := fileValue{place: r.place(n)}
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	if n.Kind == yaml.SequenceNode && len(items) == 0 || !r.plain(n) {
		r.fault(n, "%s: want a value", name)
		return v, false
	}
	for _, item := range items {
		if !r.plain(item) {
			return v, false
		}
		if item.Kind != yaml.ScalarNode || item.ShortTag() == "!!null" {
			r.fault(item, "%s: want a value, or a list of values", name)
			return v, false
		}
		v.texts = append(v.texts, item.Value)
	}
	return v, true
}

// childNamed returns the command of a name directly below another; nil without.
func childNamed(cmd *cobra.Command, name string) *cobra.Command {
	children := cmd.Commands()
	i := slices.IndexFunc(children, func(c *cobra.Command) bool { return c.Name() == name })
	if i < 0 || unsettled(children[i]) {
		return nil
	}
	return children[i]
}

// unsettled is true for the commands that cobra adds, which have no settings.
func unsettled(cmd *cobra.Command) bool {
	return cmd.Name() == "help" || cmd.Name() == "completion" || strings.HasPrefix(cmd.Name(), "__")
}

// takesSetting reports whether a flag of the name belongs to the command or to
// one below it, so that a section of the command may set it.
func takesSetting(cmd *cobra.Command, name string) bool {
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		if f := flags.Lookup(name); f != nil && isSetting(f) {
			return true
		}
	}
	return slices.ContainsFunc(cmd.Commands(), func(c *cobra.Command) bool {
		return !unsettled(c) && takesSetting(c, name)
	})
}

// isSetting is false for the flags that make no sense in a file: --help,
// --version and the name of the file.
func isSetting(f *pflag.Flag) bool {
	return f.Name != "help" && f.Name != "version" && f.Name != ConfigFlag
}
