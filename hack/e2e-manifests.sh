#!/usr/bin/env bash
# What a cluster installs, on a real control plane: server-side dry runs of every
# object of the chart and the kustomizations, helm install, upgrade and
# uninstall, the scheduler and the agent with no more rights than the chart gives
# them, explain and what-if. Needs Go only; nothing is left behind.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
cluster=

finish() {
  local status=$?
  [[ -z $cluster ]] || "$cluster" down "$work/cluster" || true
  rm -rf "$work"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

bin=$(hack/cluster.sh build | tail -n 1)
go build -o "$work/bandmate" ./cmd/bandmate
(cd manifests/test && go build -o "$work/helm" helm.sh/helm/v4/cmd/helm && go test -c -o "$work/manifests.test" .)
cluster=$bin/cluster
# Without our resource definitions: the chart brings them.
"$cluster" up -bin "$bin" -crds "" -kwok-stages "$bin/stages" -nodes 3 "$work/cluster" >"$work/up.txt"
kubeconfig=$(sed -n 's/^export KUBECONFIG=//p' "$work/up.txt" | tr -d "'\"")

status=0
(cd manifests/test && BANDMATE_E2E_KUBECONFIG=$kubeconfig BANDMATE_E2E_HELM=$work/helm \
  BANDMATE_E2E_SCHEDULER=$bin/bandmate-scheduler BANDMATE_E2E_CLI=$work/bandmate \
  "$work/manifests.test" -test.run '^TestCluster$' -test.v -test.timeout 10m) >"$work/out.txt" 2>&1 || status=$?

# A table of the checks; everything that was printed where one failed.
sed -n 's/^    --- \(PASS\|FAIL\): TestCluster\/\(.*\) (\(.*\))$/\1  \3  \2/p' "$work/out.txt" | tr _ ' '
grep -E 'of [0-9]+ objects accepted|metrics of the dashboard' "$work/out.txt" | sed 's/^ *[a-z_]*\.go:[0-9]*: /      /' || true
passed=$(grep -c '^    --- PASS' "$work/out.txt" || true)
failed=$(grep -c '^    --- FAIL' "$work/out.txt" || true)
echo "$passed passed, $failed failed"
[[ -z ${SHOW:-} ]] || cat "$work/out.txt"
if ((status != 0 || passed == 0)); then
  cat "$work/out.txt"
  exit 1
fi
