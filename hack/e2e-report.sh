#!/usr/bin/env bash
# Opens reports in a headless Chromium, from the disk and as bandmate serve serves
# them, and checks them: no error, no request, numbers as `bandmate predict` says,
# keyboard, accessibility, 2,000 applications. Installs Chromium when it is missing and run as root.
#
#   hack/e2e-report.sh [ARTIFACTS]   folder in which pages and screenshots stay
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
artifacts=$(realpath -m "${1:-$scratch/artifacts}")

if ! command -v chromium >/dev/null; then
  if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
    echo "chromium is missing: install the Debian package chromium" >&2
    exit 1
  fi
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium
fi
go build -o "$scratch/bandmate" ./cmd/bandmate
(cd hack/report && go build -o "$scratch/browser" ./browser)
mkdir -p "$artifacts"
"$scratch/browser" -bandmate "$scratch/bandmate" -artifacts "$artifacts"
