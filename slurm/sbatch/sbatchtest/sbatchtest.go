// Package sbatchtest has the scripts and the environment of tests of submissions.
package sbatchtest

import (
	"fmt"
	"io/fs"
	"strings"
)

// Script returns the text of a script by its name.
func Script(name string) ([]byte, error) {
	text, ok := map[string]string{
		"run.sh":   "#!/bin/bash\n\n#SBATCH --comment=bandmate=scripted  # why\n# a remark\n#SBATCH -N 2 --ntasks-per-node=4 -p \"odd\"\n#SBATCH -x n9\necho\n#SBATCH -N 7\n",
		"plain.sh": "#!/bin/sh\nsleep 1\n",
		"het.sh":   "#!/bin/sh\n#SBATCH -N1 --comment=bandmate=a -J leader -p share\n#SBATCH hetjob -N7\n#SBATCH -N2 --comment=bandmate=b\n",
		"many.sh":  "#!/bin/sh\n" + strings.Repeat("#SBATCH packjob\n", 128),
		"quiet.sh": "#!/bin/sh\n#SBATCH --quiet\n",
		"odd.sh":   "#!/bin/sh\n#SBATCH --no-such-thing\n",
	}[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return []byte(text), nil
}

// Environ returns an environment of variables NAME=VALUE.
func Environ(variables ...string) func(string) string {
	return func(name string) string {
		for _, v := range variables {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
}
