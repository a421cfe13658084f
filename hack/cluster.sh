#!/usr/bin/env bash
# A Kubernetes control plane on loopback, for tests and for trying Bandmate:
# etcd, kube-apiserver, our resource definitions, bandmate-scheduler and
# simulated nodes (kwok). Needs Go, and nothing else; no root, no containers.
#
#   hack/cluster.sh up DIR [NODES]   starts one (4 nodes) in DIR, which must not
#                                    exist, and prints export KUBECONFIG=...
#   hack/cluster.sh down DIR         stops it and removes DIR
#   hack/cluster.sh build            only builds, and prints where
#   hack/cluster.sh build-node       the same, and what hack/kubelet.sh needs
#
# The first build takes minutes. Programs are kept in $BANDMATE_CLUSTER_BIN, by
# default in the user's cache folder, and rebuilt when their sources change.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
bin=${BANDMATE_CLUSTER_BIN:-${XDG_CACHE_HOME:-$HOME/.cache}/bandmate/cluster}
readonly kwok=v0.8.0
readonly module=k8s.io/component-base/version

build() { # PACKAGES of hack/cluster
  mkdir -p "$bin"
  local kubernetes flags
  kubernetes=$(cd "$root/cmd/bandmate-scheduler" && go list -m -f '{{.Version}}' k8s.io/kubernetes)
  flags="-X $module.gitVersion=$kubernetes -X $module.gitMajor=1 -X $module.gitMinor=$(cut -d. -f2 <<<"$kubernetes")"
  # One program after the other: linking two at once takes gigabytes.
  (cd "$root/hack/cluster" && go build -ldflags "$flags" -o "$bin/" "$@")
  (cd "$root/cmd/bandmate-scheduler" && go build -ldflags "$flags" -o "$bin/" .)
  [[ -x $bin/kwok ]] || (cd / && GOBIN=$bin GOFLAGS=-mod=mod go install sigs.k8s.io/kwok/cmd/kwok@$kwok)
}

# stages gathers what kwok has its nodes and pods do, from kwok's own module.
stages() {
  local source file
  source=$(go env GOMODCACHE)/sigs.k8s.io/kwok@$kwok/kustomize/stage
  mkdir -p "$bin/stages"
  for file in pod/fast/pod-ready.yaml pod/fast/pod-complete.yaml pod/fast/pod-delete.yaml \
    node/fast/node-initialize.yaml node/heartbeat-with-lease/node-heartbeat-with-lease.yaml; do
    install -m 644 "$source/$file" "$bin/stages/$(basename "$file")"
  done
  # kwok deletes by name, a moment later. A pod without a grace period is gone by then, and
  # one of the same name may have come: only pods with a grace period need kwok for their end.
  local all="'.metadata.deletionTimestamp'"
  local waiting="'.metadata | select(.deletionGracePeriodSeconds != 0) | .deletionTimestamp'"
  grep -qF "key: $all" "$bin/stages/pod-delete.yaml" || {
    echo "pod-delete.yaml of kwok $kwok has no key $all: adapt hack/cluster.sh to it" >&2
    return 1
  }
  sed -i "s/key: $all/key: $waiting/" "$bin/stages/pod-delete.yaml"
}

readonly programs=(./etcd ./apiserver ./cluster)

case ${1:-} in
  build)
    build "${programs[@]}" && stages && echo "$bin"
    ;;
  build-node)
    build "${programs[@]}" ./kubelet ./controllermanager ./kubectl && stages && echo "$bin"
    ;;
  up)
    (build "${programs[@]}" && stages) >&2
    "$bin/cluster" up -bin "$bin" -crds "$root/manifests/base/crds" -kwok-stages "$bin/stages" -nodes "${3:-4}" "${2:?DIR}"
    ;;
  down)
    dir=${2:?DIR}
    "$bin/cluster" down "$dir"
    rm -rf "$dir"
    ;;
  *)
    sed -n '2,14s/^# \?//p' "$0" >&2
    exit 2
    ;;
esac
