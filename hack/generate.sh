#!/usr/bin/env bash
# Regenerates everything that is generated and committed, in every module:
# assembly, deep copies, custom resource definitions. Which command makes which
# file stands in the go:generate line beside it.
set -euo pipefail
cd "$(dirname "$0")/.."

while IFS= read -r module; do
  (cd "$module" && go generate ./...)
done < <(find . -name go.mod -not -path '*/testdata/*' -printf '%h\n' | sort)
