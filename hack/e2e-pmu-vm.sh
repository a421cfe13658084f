#!/usr/bin/env bash
# Measures with the counter sources in a virtual machine that has pretend
# memory-controller counters: see hack/pmu-vm.sh and hack/pmuvm/README.md.
#
#   hack/e2e-pmu-vm.sh [REGEXP]   only checks whose name matches
source "$(dirname "$0")/lib.sh"

# passes_through CODE FIRST COMMAND... checks that the output, which begins with
# FIRST, and the exit code of a command leave the virtual machine unchanged.
passes_through() {
  local status=0
  hack/pmu-vm.sh --pmus uncore_imc_0:icx,uncore_imc_1:icx --rates '* 0 1e8 5e7; * 1 2e7 2e7' -- "${@:3}" >"$scratch/out" || status=$?
  ((status == $1)) && [[ $(head -c 1 "$scratch/out") == "$2" ]] || { echo "exit code $status"; cat "$scratch/out"; return 1; }
}

hack/pmu-vm.sh --prepare
if (($# == 0)); then
  check "script: measure --no-such-flag: exit code 2" passes_through 2 '' measure --no-such-flag
  check "script: measure --source imc: exit code 0" passes_through 0 '{' measure --source imc --duration 2s -o json
  summary
fi
go_tests hack/pmu-vm.sh --timeout 540 --checks -- "$@"
