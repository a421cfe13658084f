#!/usr/bin/env bash
# Runs the commands of README and docs once more, this time with those that
# measure (docs/reference/not-run.md, "Measuring"). Prints each with its exit
# code. Needs two CPUs; takes some minutes.
source "$(dirname "$0")/lib.sh"

status=0
BANDMATE_DOCS_RUN=measuring go test ./cmd/bandmate -count=1 -timeout 60m -v -run 'TestDocumentation$' >"$scratch/log" 2>&1 || status=$?
sed -n 's/^ *docs_commands_test.go:[0-9]*: //p' "$scratch/log"
printf '%d commands, of which %d measure\n' "$(grep -c 'exit code' "$scratch/log")" \
  "$(grep -cE 'exit code .* bandmate (onboard|measure|doctor|machine|(capability|overlap|network) measure)' "$scratch/log")"
if ((status)); then
  tail -n 40 "$scratch/log" >&2
fi
exit "$status"
