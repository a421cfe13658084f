#!/usr/bin/env bash
# Measures with the counter sources in a virtual machine that has pretend
# memory-controller counters: see hack/pmu-vm.sh and hack/pmuvm/README.md.
#
#   hack/e2e-pmu-vm.sh [SUBSTRING...]   only checks whose name contains one
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# passes_through checks that a command's output and exit code leave the virtual
# machine unchanged.
passes_through() {
  local status=0
  hack/pmu-vm.sh --pmus uncore_imc_0:icx,uncore_imc_1:icx --rates '* 0 1e8 5e7; * 1 2e7 2e7' -- "${@:3}" \
    >"$scratch/out" 2>"$scratch/err" || status=$?
  if ((status == $1)) && [[ $(head -c 1 "$scratch/out") == "$2" ]]; then
    echo "ok    script: ${*:3}: exit code $1"
    return
  fi
  echo "FAIL  script: ${*:3}: exit code $status, want $1"
  cat "$scratch/out" "$scratch/err"
  return 1
}

started=$SECONDS
hack/pmu-vm.sh --prepare
if (($# == 0)); then
  passes_through 2 '' measure --no-such-flag
  passes_through 0 '{' measure --source imc --duration 2s -o json
fi
hack/pmu-vm.sh --timeout 540 --checks -- "$@"
echo "virtual machines: $((SECONDS - started)) s" >&2
