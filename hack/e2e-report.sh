#!/usr/bin/env bash
# Opens reports in a headless Chromium, from the disk and as bandmate serve serves
# them, and checks them: no error, no request, numbers as `bandmate predict` says,
# keyboard, accessibility, 2,000 applications. Installs Chromium when it is missing and run as root.
#
#   hack/e2e-report.sh [ARTIFACTS]   folder in which pages and screenshots stay
artifacts=${1:+$(realpath -m "$1")}
source "$(dirname "$0")/lib.sh"
export BANDMATE_E2E_CLI=$scratch/bandmate BANDMATE_E2E_ARTIFACTS=${artifacts:-$scratch/artifacts}

need chromium chromium
go build -o "$BANDMATE_E2E_CLI" ./cmd/bandmate
mkdir -p "$BANDMATE_E2E_ARTIFACTS"
cd hack/report
go_tests go test -count=1 -timeout 60m -v -run '^TestBrowser$' .
grep -o '2,000 applications, .* (goal .*)' "$scratch/tests"
