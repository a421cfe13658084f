#!/usr/bin/env bash
# Builds a release twice, in two folders and two environments, and checks that the
# bytes are the same, that archive and Debian package install, say their version
# and go again, and that `make install` and `make uninstall` leave nothing behind.
source "$(dirname "$0")/lib.sh"
root=$PWD version=v0.0.1-e2e.1

# leaves_nothing FOLDER holds where no file or link is below it.
leaves_nothing() { [[ -z $(find "$1" -not -type d) ]] || { find "$1" -not -type d; return 1; }; }

same_everywhere() { diff "$scratch/one/SHA256SUMS" "$scratch/two/SHA256SUMS"; }

says_version() { [[ $("$1" --version) == "bandmate version $version" ]] || { "$1" --version; return 1; }; }

bill_is_complete() {
  local listed linked
  listed=$(grep -c '"purl": "pkg:golang/' "$1")
  linked=$(go version -m "$2" | grep -c '^	dep	')
  # The program itself and the standard library come on top.
  [[ $listed == $((linked + 2)) ]] || { echo "$listed listed, $linked linked"; return 1; }
}

sorted_and_timeless() {
  tar tzf "$1" >"$scratch/names" &&
    sed 's|/$||' "$scratch/names" | tr / '\001' | LC_ALL=C sort -c &&
    [[ $(tar tvzf "$1" --full-time --utc | awk '{print $2, $4, $5}' | sort -u | wc -l) == 1 ]]
}

manual_is_sound() {
  local page
  for page in "$1"/*.1; do
    # In a manual page a bad line is an error or a warning of groff's.
    groff -man -Tutf8 -ww -z "$page" 2>&1 | tee -a "$scratch/groff"
  done
  [[ ! -s $scratch/groff ]]
}

dpkg_here() { dpkg --root="$scratch/system" --force-not-root --force-script-chrootless --log=/dev/null "$@"; }

export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
check "build" hack/release.sh "$version" "$scratch/one"

# The same sources elsewhere, for somebody else.
mkdir "$scratch/copy"
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
  [[ -e $file || -L $file ]] && printf '%s\0' "$file"
done | tar c --null -T - | tar x -C "$scratch/copy"
check "build elsewhere" env -u LANG TZ=Pacific/Auckland LC_ALL=C BANDMATE_OUTPUT=json \
  bash -c 'umask 077; cd "$1" && hack/release.sh "$2" "$3"' _ "$scratch/copy" "$version" "$scratch/two"
check "the same bytes" same_everywhere
check "checksums" bash -c 'cd "$1" && sha256sum --check --strict SHA256SUMS' _ "$scratch/one"

name=bandmate-${version#v}
for architecture in amd64 arm64; do
  archive=$scratch/one/$name-linux-$architecture.tar.gz
  tar xzf "$archive" -C "$scratch"
  program=$scratch/$name-linux-$architecture/bin/bandmate
  check "$architecture: archive in order, of one time and owner" sorted_and_timeless "$archive"
  check "$architecture: bill of materials" bill_is_complete "${archive%.tar.gz}.cdx.json" "$program"
  check "$architecture: built for it" bash -c 'go version -m "$1" | grep -q "GOARCH=$2$"' _ "$program" "$architecture"
done

native=$(go env GOARCH)
program=$scratch/$name-linux-$native/bin/bandmate
check "archive: version" says_version "$program"
check "archive: bash completion loads" bash -c 'source "$1" && declare -F __start_bandmate' _ "$scratch/$name-linux-$native/share/bash-completion/completions/bandmate"
if command -v groff >/dev/null; then
  check "archive: manual pages" manual_is_sound "$scratch/$name-linux-$native/share/man/man1"
else
  skip "archive: manual pages" "groff is not installed"
fi

if command -v dpkg >/dev/null && [[ $(dpkg --print-architecture) == "$native" ]]; then
  mkdir -p "$scratch/system/var/lib/dpkg"/{info,updates}
  touch "$scratch/system/var/lib/dpkg/status"
  package=$(echo "$scratch"/one/bandmate_*_"$native".deb)
  check "package: installs" dpkg_here --install "$package"
  check "package: files as packed" dpkg_here --verify bandmate
  check "package: version" says_version "$scratch/system/usr/bin/bandmate"
  check "package: a release is newer" dpkg --compare-versions "$(dpkg-deb -f "$package" Version)" lt "$(echo "${version#v}" | cut -d- -f1)"
  check "package: is removed" dpkg_here --purge bandmate
  check "package: leaves nothing" leaves_nothing "$scratch/system/usr"
else
  skip "package" "no dpkg of this architecture"
fi

stage=$scratch/stage
install=(make --silent -C "$root" "DESTDIR=$stage" PREFIX=/opt/bandmate "BINARY=$program")
check "make install" "${install[@]}" install
check "make install: version" says_version "$stage/opt/bandmate/bin/bandmate"
check "make install: unit" grep -q '^ExecStart=/opt/bandmate/bin/bandmate ' "$stage/opt/bandmate/lib/systemd/system/bandmate-slurm-watch.service"
check "make uninstall" "${install[@]}" uninstall
check "make uninstall: leaves nothing" leaves_nothing "$stage"
check "wrong version" bash -c '! hack/release.sh 1.0 "$1"' _ "$scratch/three"

summary
