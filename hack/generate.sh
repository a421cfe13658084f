#!/usr/bin/env bash
# Regenerates everything that is generated and committed, in every module:
# assembly, deep copies, resource definitions, reference pages, tables, pictures. Which command makes which
# file stands in the go:generate line beside it.
source "$(dirname "$0")/lib.sh"

for module in $(modules); do
  (cd "$module" && go generate ./...)
done
