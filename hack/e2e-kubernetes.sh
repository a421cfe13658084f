#!/usr/bin/env bash
# End-to-end tests of bandmate-scheduler in a real control plane on loopback.
# Builds etcd, kube-apiserver, the scheduler and kwok with Go alone (minutes when
# cold), runs hack/cluster/e2e, and prints a table of the checks.
# BANDMATE_E2E_SHORT=1 keeps the API server away for seconds and not for a minute.
# BANDMATE_E2E_RECORD=FOLDER, absolute, keeps where pods went in situations.json.
source "$(dirname "$0")/lib.sh"

BANDMATE_CLUSTER_BIN=$(hack/cluster.sh build | tail -n 1)
export BANDMATE_CLUSTER_BIN TMPDIR=$scratch
short=()
[[ ${BANDMATE_E2E_SHORT:-} != 1 ]] || short=(-short)
cd hack/cluster
go_tests go test -count=1 -v "${short[@]}" -timeout 20m ./e2e
