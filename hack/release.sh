#!/usr/bin/env bash
# Builds a release for linux/amd64 and linux/arm64: archives, Debian packages, a
# list of what is inside (CycloneDX) and checksums. The same sources, version and
# Go give the same bytes, wherever they lie.
#
#   hack/release.sh v0.1.0 dist
#
# SOURCE_DATE_EPOCH is the time of every file; without it, that of the commit.
set -euo pipefail
if [[ $# != 2 ]]; then
  echo "usage: hack/release.sh VERSION FOLDER" >&2
  exit 2
fi
version=$1 out=$(realpath -m "$2")
cd "$(dirname "$0")/.."
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
root=$PWD
cd hack/release
exec go run . -version "$version" -out "$out" -root "$root"
