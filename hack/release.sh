#!/usr/bin/env bash
# Builds a release for linux/amd64 and linux/arm64: archives, Debian packages, a
# list of what is inside (CycloneDX) and checksums. The same sources, version and
# Go give the same bytes, wherever they lie.
#
#   hack/release.sh v0.1.0 FOLDER
#
# SOURCE_DATE_EPOCH is the time of every file; without it, that of the commit.
out=$(realpath -m "${2:-}")
source "$(dirname "$0")/lib.sh"

# What https://semver.org allows, with a v and without build metadata, which a
# Debian version cannot hold.
number='(0|[1-9][0-9]*)'
if [[ $# != 2 || ! $1 =~ ^v$number\.$number\.$number(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$ ]]; then
  echo "usage: hack/release.sh VERSION FOLDER, with a version such as v0.1.0 or v0.1.0-rc.1" >&2
  exit 2
fi
version=$1
# v0.1.0-rc.1 comes before v0.1.0, which dpkg says with a ~.
DEBIAN_VERSION=${version#v} DEBIAN_VERSION=${DEBIAN_VERSION/-/\~}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
# Nothing depends on who builds.
export DEBIAN_VERSION SOURCE_DATE_EPOCH BANDMATE_CONFIG=/dev/null LC_ALL=C.UTF-8 TZ=UTC
umask 022

tool() { go tool -modfile=hack/release/tools.mod "$@"; }

# compile ARCHITECTURE FILE builds the program.
compile() {
  CGO_ENABLED=0 GOOS=linux GOARCH=$1 GOAMD64=v1 GOARM64=v8.0 GOFLAGS='' go build -trimpath -buildvcs=false \
    -ldflags="-s -w -buildid= -X bandmate.dev/bandmate/cmd/bandmate/internal/cli.release=$version" -o "$2" ./cmd/bandmate
}

mkdir -p "$out"
# Completions are what a program says that runs here.
compile "$(go env GOARCH)" "$scratch/native"
for ARCHITECTURE in amd64 arm64; do
  STAGE=$scratch/$ARCHITECTURE
  export ARCHITECTURE STAGE
  name=bandmate-${version#v}-linux-$ARCHITECTURE
  compile $ARCHITECTURE "$scratch/bandmate"
  make --silent install DESTDIR="$STAGE" PREFIX=/usr BINARY="$scratch/bandmate" NATIVE="$scratch/native"
  find "$STAGE" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
  tar --create --directory "$STAGE" --transform "s,^usr,$name," --format=ustar --sort=name --owner=root:0 --group=root:0 usr |
    gzip -9 --no-name >"$out/$name.tar.gz"
  tool nfpm package --config hack/release/nfpm.yaml --packager deb --target "$out/bandmate_${DEBIAN_VERSION}_$ARCHITECTURE.deb"
  # Without the list's own tool, whose checksum depends on where it was built.
  tool cyclonedx-gomod bin -json -std -noserial -notimestamp -version "$version" "$scratch/bandmate" |
    sed '/^    "tools": \[$/,/^    \],$/d' >"$out/$name.cdx.json"
done
cd "$out"
sha256sum bandmate* >SHA256SUMS
ls -l
