#!/usr/bin/env bash
# Measures bandmate-scheduler in a real control plane on loopback and prints the
# tables of docs/results/kubernetes.md:
#
#   hack/evaluate-kubernetes.sh quality [FLAGS]
#   hack/evaluate-kubernetes.sh throughput -nodes 1000 [FLAGS]
set -euo pipefail
cd "$(dirname "$0")/.."
[[ $# -gt 0 && $1 != -* ]] || { sed -n '2,6s/^# \?//p' "$0" >&2; exit 2; }
measure=$1
shift
bin=$(hack/cluster.sh build | tail -n 1)
(cd hack/cluster && go build -o "$bin/" ./evaluate)
exec "$bin/evaluate" -bin "$bin" "$@" "$measure"
