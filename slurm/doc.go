// Package slurm reads a Slurm cluster and advises where a job, and those that run
// there, lose least to contention for memory. It runs Slurm's own commands, which need
// no privilege, and changes nothing.
//
//	Reader.Read  →  Cluster (nodes, jobs)  →  NewOccupancy  →  Advisor.Advise  →  Advice
//
// Only a Runner touches the machine. Everything else is a function of what the
// commands printed, in the formats of Slurm 22.05 and later.
package slurm
