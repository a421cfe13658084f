// Package slurmfiles holds the files that a Slurm cluster installs, for the
// command line.
package slurmfiles

import _ "embed" // for the scripts

// OnboardScript is onboard.sbatch: a batch script that onboards an application
// on a whole node. Its arguments are the name, flags of bandmate onboard, -- and
// the command.
//
//go:embed onboard.sbatch
var OnboardScript []byte
