package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	v1alpha1 "bandmate.dev/bandmate/api/v1alpha1"
)

// maxSettingsBytes is far more than all flags of all commands take.
const maxSettingsBytes = 1 << 20

func readSettings(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxSettingsBytes+1))
	if err == nil && len(data) > maxSettingsBytes {
		err = fmt.Errorf("%s: want at most %d bytes", path, maxSettingsBytes)
	}
	return data, err
}

// settingsReader reads a file whose structure is that of the commands.
type settingsReader struct {
	file   string
	values map[string]value
	faults []error
}

// CheckSettings returns what is wrong with a settings file; see parseSettings.
func CheckSettings(file string, data []byte, root *cobra.Command) error {
	_, err := parseSettings(file, data, root)
	return err
}

// parseSettings reads a settings file against the commands below root, and returns
// its values by the variable that would set the same. An empty file sets nothing.
// Every unknown command or flag, repeated key and value of the wrong kind is
// reported with its file:line:column. Whether a flag takes the value shows when it is
// set.
func parseSettings(file string, data []byte, root *cobra.Command) (map[string]value, error) {
	r := &settingsReader{file: file, values: map[string]value{}}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, more yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, r.syntax(err)
	}
	if err := decoder.Decode(&more); err != nil && !errors.Is(err, io.EOF) {
		return nil, r.syntax(err)
	} else if err == nil {
		return nil, fmt.Errorf("%s: more than one document: want one", r.place(&more))
	}
	r.section(document.Content[0], root)
	return r.values, errors.Join(r.faults...)
}

// syntax puts the line that the parser names where every other fault has it.
func (r *settingsReader) syntax(err error) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if line, text, ok := strings.Cut(strings.TrimPrefix(message, "line "), ": "); ok && strings.HasPrefix(message, "line ") {
		return fmt.Errorf("%s:%s: not YAML: %s", r.file, line, text)
	}
	return fmt.Errorf("%s: not YAML: %s", r.file, message)
}

func (r *settingsReader) place(n *yaml.Node) string {
	return fmt.Sprintf("%s:%d:%d", r.file, n.Line, n.Column)
}

func (r *settingsReader) fault(at *yaml.Node, format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf("%s: "+format, append([]any{r.place(at)}, args...)...))
}

// section reads what the file says of a command and of those below it.
func (r *settingsReader) section(n *yaml.Node, cmd *cobra.Command) {
	if n.Kind != yaml.MappingNode {
		r.fault(n, "want flags and commands of %s, one on a line, such as quiet: true", cmd.CommandPath())
		return
	}
	header := map[string]string{}
	if !cmd.HasParent() {
		header = map[string]string{"apiVersion": v1alpha1.APIVersion, "kind": "Configuration"}
	}
	missing := len(header)
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, content := n.Content[i], n.Content[i+1]
		name := key.Value
		child := childNamed(cmd, name)
		switch {
		case seen[name]:
			r.fault(key, "%q appears twice", name)
		case header[name] != "":
			missing--
			if content.Value != header[name] {
				r.fault(content, "%s: want %s", name, header[name])
			}
		// A name such as machine is a command and a flag of others.
		case child != nil && content.Kind == yaml.MappingNode:
			r.section(content, child)
		case takesSetting(cmd, name):
			r.value(VariableOf(CommandWords(cmd), name), name, content)
		case child != nil:
			r.fault(key, "%s is a command: want its flags below it", name)
		default:
			r.fault(key, "%q: no flag or command of %s: see %s --help", name, cmd.CommandPath(), cmd.CommandPath())
		}
		seen[name] = true
	}
	if missing > 0 {
		r.fault(n, "want apiVersion: %s and kind: %s", header["apiVersion"], header["kind"])
	}
}

// value reads a scalar or a list of scalars.
func (r *settingsReader) value(variable, name string, n *yaml.Node) {
	v := value{place: r.place(n)}
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	for _, item := range items {
		if item.Kind == yaml.ScalarNode && item.ShortTag() != "!!null" {
			v.texts = append(v.texts, item.Value)
		}
	}
	if len(v.texts) == 0 || len(v.texts) < len(items) {
		r.fault(n, "%s: want a value, or a list of values", name)
		return
	}
	r.values[variable] = v
}

// childNamed returns the command of a name directly below another; nil without.
func childNamed(cmd *cobra.Command, name string) *cobra.Command {
	children := cmd.Commands()
	i := slices.IndexFunc(children, func(c *cobra.Command) bool { return c.Name() == name && !unsettled(c) })
	if i < 0 {
		return nil
	}
	return children[i]
}

// takesSetting reports whether a flag of the name belongs to the command or to
// one below it, so that a section of the command may set it.
func takesSetting(cmd *cobra.Command, name string) bool {
	f := cmp.Or(cmd.Flags().Lookup(name), cmd.PersistentFlags().Lookup(name))
	return f != nil && isSetting(f) || slices.ContainsFunc(cmd.Commands(), func(c *cobra.Command) bool {
		return !unsettled(c) && takesSetting(c, name)
	})
}
