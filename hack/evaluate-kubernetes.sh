#!/usr/bin/env bash
# Measures bandmate-scheduler in a real control plane on loopback, keeps what it
# measured in docs/results/kubernetes and writes the tables of
# docs/results/kubernetes.md from that:
#
#   hack/evaluate-kubernetes.sh results             everything, about an hour
#   hack/evaluate-kubernetes.sh situations          where pods go (the end-to-end tests)
#   hack/evaluate-kubernetes.sh quality [FLAGS]     how slow they are there
#   hack/evaluate-kubernetes.sh throughput [FLAGS]  pods a second beside Trimaran,
#                                                   -nodes 1000 or -nodes 5000
#   hack/evaluate-kubernetes.sh cost                the plugin's own time
#   hack/evaluate-kubernetes.sh tables              only writes the tables
#
# FLAGS are those of hack/cluster/evaluate. Throughput wants the machine to itself:
# rounds during which something else ran are kept, and left out of the table.
source "$(dirname "$0")/lib.sh"
readonly trimaran=hack/cluster/testdata/trimaran version=k8s.io/component-base/version

# kubernetes prints the version of Kubernetes that a module asks for.
kubernetes() { (cd "$1" && go list -m -f '{{.Version}}' k8s.io/kubernetes); }

measure() {
  local what=$1
  shift
  local bin flags=()
  bin=$(hack/cluster.sh build | tail -n 1)
  (cd hack/cluster && go build -o "$bin/" ./evaluate)
  if [[ $what == throughput ]]; then
    local made_for
    made_for=$(kubernetes $trimaran)
    (cd $trimaran && go build -ldflags "-X $version.gitVersion=$made_for -X $version.gitMajor=1 -X $version.gitMinor=$(cut -d. -f2 <<<"$made_for")" \
      -o "$bin/trimaran-scheduler" .)
    flags=(-trimaran "$made_for")
  fi
  "$bin/evaluate" -bin "$bin" -kubernetes "$(kubernetes cmd/bandmate-scheduler)" "${flags[@]}" "$@" "$what"
}

situations() { BANDMATE_E2E_RECORD=$PWD/docs/results/kubernetes hack/e2e-kubernetes.sh; }

tables() { (cd hack/cluster && go generate ./results); }

case ${1:-} in
  results)
    situations
    measure quality
    measure throughput -nodes 1000
    measure throughput -nodes 5000
    measure cost
    tables
    ;;
  situations) situations && tables ;;
  quality | throughput | cost) measure "$@" && tables ;;
  tables) tables ;;
  *)
    sed -n '2,16s/^# \?//p' "$0" >&2
    exit 2
    ;;
esac
