// Package slurm reads a Slurm cluster and says where a job would suffer, and
// make others suffer, least. It asks with Slurm's own commands, as any user may,
// and changes nothing: the commands that act on its advice are elsewhere.
//
// The way through it:
//
//	Reader.Read  →  Cluster (nodes, jobs)  →  Advisor.Advise  →  Advice
//
// Only a Runner touches the machine. Everything else is a function of what the
// commands printed, in any of the shapes between Slurm 22.05 and today's.
package slurm
