#!/usr/bin/env bash
# What a cluster installs, on a real control plane: server-side dry runs of every
# object of the chart and the kustomizations, helm install, upgrade and
# uninstall, the scheduler and the agent with no more rights than the chart gives
# them, explain and what-if. Needs Go only; nothing is left behind.
source "$(dirname "$0")/lib.sh"
cluster=

cleanup() { [[ -z $cluster ]] || "$cluster" down "$scratch/cluster"; }

bin=$(hack/cluster.sh build | tail -n 1)
go build -o "$scratch/bandmate" ./cmd/bandmate
(cd manifests/test && go build -o "$scratch/helm" helm.sh/helm/v4/cmd/helm && go test -c -o "$scratch/manifests.test" .)
cluster=$bin/cluster
# Without our resource definitions: the chart brings them.
"$cluster" up -bin "$bin" -crds "" -kwok-stages "$bin/stages" -nodes 3 "$scratch/cluster" >"$scratch/up.txt"
kubeconfig=$(sed -n 's/^export KUBECONFIG=//p' "$scratch/up.txt" | tr -d "'\"")

cd manifests/test
export BANDMATE_E2E_KUBECONFIG=$kubeconfig BANDMATE_E2E_HELM=$scratch/helm
export BANDMATE_E2E_SCHEDULER=$bin/bandmate-scheduler BANDMATE_E2E_CLI=$scratch/bandmate
go_tests "$scratch/manifests.test" -test.run '^TestCluster$' -test.v -test.timeout 10m
cd ../..
grep -E 'of [0-9]+ objects accepted|metrics of the dashboard' "$scratch/tests" | sed 's/^ *[a-z_]*\.go:[0-9]*: /      /' || true
