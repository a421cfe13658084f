#!/usr/bin/env bash
# Lints every module of the repository with the pinned golangci-lint, and checks
# the spelling of every other file with the same dictionary.
# Arguments go to golangci-lint run, for example: hack/lint.sh --fix
# The first run builds the linter, which takes minutes; later ones reuse it.
source "$(dirname "$0")/lib.sh"
root=$PWD

# Asked for before GOWORK, GOFLAGS or a nested module can change what it means.
linter=$(go tool -modfile=tools.mod -n golangci-lint)
speller=$(go tool -modfile=tools.mod -n misspell)

echo "spelling"
git ls-files -z -- ':!*.go' ':!*.mod' ':!*.sum' ':!*.png' ':!manifests/chart/files/crds' |
  xargs -0 "$speller" -error -locale US

for module in $(modules); do
  echo "lint $module"
  (cd "$module" && "$linter" run --config "$root/.golangci.yml" "$@" ./...)
done
