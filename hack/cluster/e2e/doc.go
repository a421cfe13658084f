// Package e2e tests bandmate-scheduler in a real control plane: placements that
// follow the prediction, limits, policies, and everything that can go wrong
// around it. hack/e2e-kubernetes.sh builds what it needs and runs it.
//
// Without BANDMATE_CLUSTER_BIN, the folder that hack/cluster.sh build prints, the
// tests skip.
package e2e
