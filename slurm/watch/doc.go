// Package watch keeps the waiting jobs of a Slurm cluster off the nodes where
// memory contention would slow them, or those who run there, down too much.
//
// A round reads the cluster, decides for every waiting job whose application is
// known which nodes it had better stay off, and tells Slurm by the job's list of
// excluded nodes (ExcNodeList). As residents come and go, exclusions come and
// go.
//
//	Slurm ─► slurm.Cluster ─► Memory.Reconcile ─► Planner.Plan ─► Decisions ─► scontrol
//	                              ▲                                   │
//	                              └──────────── state file ◄──────────┘
//
// What Watcher promises:
//
//   - It changes nothing but the excluded nodes (and its own remarks in
//     AdminComment) of waiting jobs whose application has a profile.
//   - It takes back what it set and nothing else: the nodes that the user
//     excluded stay excluded, and a list that somebody changed is left alone
//     from then on.
//   - It never excludes every node on which a job could run.
//   - What it is about to do is on disk before it is done, so that a watch that
//     was killed knows afterwards what is its own.
//
// Deciding is pure: the same cluster, memory and profiles give the same
// decisions.
package watch
