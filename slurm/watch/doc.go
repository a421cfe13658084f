// Package watch keeps the waiting jobs of a Slurm cluster off nodes where memory
// contention would slow them or the running jobs down too much.
//
// A round reads the cluster, decides which nodes every waiting job with a profile
// should stay off, and tells Slurm through the job's list of excluded nodes
// (ExcNodeList). Exclusions come and go with the residents.
//
//	Slurm ─► slurm.Cluster ─► Memory.Reconcile ─► Planner.Plan ─► Decisions ─► scontrol
//	                              ▲                                   │
//	                              └──────────── state file ◄──────────┘
//
// What Watcher promises:
//
//   - It changes nothing but the excluded nodes (and its own remarks in
//     AdminComment) of waiting jobs whose application has a profile.
//   - It takes back what it set and nothing else. Nodes that the user excluded stay
//     excluded, and a list that somebody else changed is not touched again.
//   - It never excludes every node on which a job could run.
//   - It saves what it is about to do, so that a watch that was killed knows
//     afterward what it has set.
//
// Deciding is pure: the same cluster, memory and profiles give the same
// decisions.
package watch
