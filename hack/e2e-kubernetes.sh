#!/usr/bin/env bash
# End-to-end tests of bandmate-scheduler in a real control plane on loopback.
# Builds etcd, kube-apiserver, the scheduler and kwok with Go alone (minutes when
# cold), runs hack/cluster/e2e, and prints a table of the checks.
# BANDMATE_E2E_SHORT=1 keeps the API server away for seconds and not for a minute.
# BANDMATE_E2E_RECORD=FOLDER, absolute, keeps where pods went in situations.json.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
BANDMATE_CLUSTER_BIN=$(hack/cluster.sh build | tail -n 1)
export BANDMATE_CLUSTER_BIN TMPDIR=$scratch

short=
[[ ${BANDMATE_E2E_SHORT:-} != 1 ]] || short=-short
status=0
(cd hack/cluster && go test -count=1 -v $short -timeout 20m ./e2e) >"$scratch/log" 2>&1 || status=$?

awk '
  /^ *--- (PASS|FAIL|SKIP)/ {
    sub(/^ */, ""); sub(/^--- /, ""); sub(/:$/, "", $1)
    result = $1; sub(/:/, "", result); name = $2; time = $3; gsub(/[()]/, "", time)
    sub(/^Test/, "", name); gsub(/_/, " ", name)
    printf "%-5s %8s  %s\n", result, time, name
    count[result]++
  }
  END { printf "\n%d passed, %d failed, %d skipped\n", count["PASS"], count["FAIL"], count["SKIP"]; exit count["PASS"] == 0 || (all != "" && count["SKIP"] > 0) }
' all="${BANDMATE_TEST_REQUIRE_ALL-}" "$scratch/log" || status=1
if ((status != 0)); then
  printf '\n'
  cat "$scratch/log"
fi
exit "$status"
