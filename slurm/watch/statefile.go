package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// stateVersion is the version of the state file.
const stateVersion = 1

// state is the state file.
type state struct {
	Version int `json:"version"`
	// Cluster is Slurm's name of the cluster; job ids mean nothing in another.
	Cluster string `json:"cluster,omitempty"`
	Jobs    Memory `json:"jobs"`

	// saved is what the file holds.
	saved []byte
}

// Names of the files in the folder of a watch.
const (
	stateName  = "state.json"
	statusName = "status.json"
	lockName   = "lock"
	offName    = "off"
)

// ErrState means that the state file is not that of this watch, or cannot be read.
var ErrState = errors.New("state file of the watch")

// loadState reads the state file; a missing one is an empty memory.
func loadState(folder string) (state, error) {
	name := filepath.Join(folder, stateName)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return state{Version: stateVersion, Jobs: Memory{}}, nil
	}
	if err != nil {
		return state{}, fmt.Errorf("%w: %w: the watch has to remember what it set: use another --state or change its permissions", ErrState, err)
	}
	s, err := parseState(data)
	if err != nil {
		return s, fmt.Errorf("%w %s: %w: compare it with squeue -o '%%i %%x' and move it away; what it recorded then stays excluded until it is changed", ErrState, name, err)
	}
	return s, nil
}

func parseState(data []byte) (state, error) {
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return state{}, err
	}
	if s.Version != stateVersion {
		return state{}, fmt.Errorf("version %d: want %d", s.Version, stateVersion)
	}
	if s.Jobs == nil {
		s.Jobs = Memory{}
	}
	return s, nil
}

// save replaces the state file atomically if anything changed. It is on disk when save
// returns.
func (s *state) save(folder string) error {
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return fmt.Errorf("%s: %w", stateName, err)
	}
	if bytes.Equal(data, s.saved) {
		return nil
	}
	file := filepath.Join(folder, stateName)
	if err := renameio.WriteFile(file, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing %s: %w: make room or choose another folder with --state", file, err)
	}
	s.saved = data
	return nil
}
