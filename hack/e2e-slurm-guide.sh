#!/usr/bin/env bash
# Runs docs/guides/slurm.md, command by command, on a real Slurm (hack/slurm.sh), and
# compares what is printed with the page, but for times and the name of the user.
#
#   hack/e2e-slurm-guide.sh [-update-docs]   writes what is printed into the page
source "$(dirname "$0")/lib.sh"

status=0
BANDMATE_DOCS_RUN=slurm go test ./cmd/bandmate -count=1 -timeout 30m -v -run 'TestDocumentation$/docs/guides/slurm.md' "$@" >"$scratch/log" 2>&1 || status=$?
((status == 0)) || cat "$scratch/log" >&2
grep -q -- '--- PASS: TestDocumentation/docs/guides/slurm.md' "$scratch/log"
exit "$status"
