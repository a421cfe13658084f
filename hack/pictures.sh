#!/usr/bin/env bash
# Makes the pictures of README and docs anew: curves and terminals as SVG, which
# hack/generate.sh makes as well, and the report page as PNG, which needs
# Chromium.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

command -v chromium >/dev/null || { echo "chromium is missing: install the Debian package chromium" >&2; exit 1; }
go generate ./hack/pictures/...
go build -o "$scratch/bandmate" ./cmd/bandmate
go run ./hack/pictures/page -root . -bandmate "$scratch/bandmate"
