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

# table runs checks in a virtual machine, again when the machine itself got stuck:
# QEMU's emulation of several CPUs now and then loses an interrupt, and a kernel
# then waits for ever. A check that fails is not run again here.
table() {
  local attempt status
  for attempt in 1 2 3; do
    status=0
    hack/pmu-vm.sh --timeout 240 "$@" || status=$?
    ((status == 124)) || return "$status"
    echo "the virtual machine got stuck, attempt $attempt of 3" >&2
  done
  echo "FAIL  virtual machine: stuck three times, so not all checks ran: $*"
  return "$status"
}

started=$SECONDS
hack/pmu-vm.sh --prepare
if (($# > 0)); then
  table --checks -- "$@"
else
  table --checks -- -without offline
  table --one-thread --checks -- offline
  passes_through 2 '' measure --no-such-flag
  passes_through 0 '{' measure --source imc --duration 2s -o json
fi
echo "virtual machines: $((SECONDS - started)) s" >&2
