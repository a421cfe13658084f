#!/usr/bin/env bash
# Runs bandmate in a virtual machine that has memory-controller counters.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'EOF'
usage: hack/pmu-vm.sh [OPTION...] -- MEASURE-OR-OTHER-BANDMATE-COMMAND...

Boots Linux in QEMU (software emulation; neither root nor KVM is needed) with
two sockets, two NUMA nodes and four CPUs, registers pretend perf PMUs with
programmable counters, and runs the bandmate command inside. Its stdout, stderr
and exit code become those of this script.

  hack/pmu-vm.sh --pmus uncore_imc_0:icx,uncore_imc_1:icx \
    --rates '* 0 1e8 5e7; * 1 2e7 2e7' -- measure --source imc --duration 2s -o json

What the guest has:
  --pmus LIST       NAME:PERSONALITY[@NODE],... Personalities: skx, icx, spr (each
                    also as NAME-bare, without an events folder), gnr, gnr-old (an
                    old kernel, which shows the first sub-channel only), free and
                    free-old (free-running, server), client (free-running), snb-client,
                    umc, df (total only), df4. Without @NODE a PMU has a box on every node.
  --rates LIST      'PMU NODE READS WRITES; ...' in counts per second; PMU and NODE
                    may be *. A count is 64 bytes. Default: no traffic
  --module OPTIONS  options of the kernel module: counters=N per box (default 4),
                    headroom=N counts before a register first wraps (default 1000000)
  --cpu MODEL       what QEMU's -cpu gets (default max), for example
                    max,vendor=GenuineIntel,family=6,model=173
  --user            run the command as a user without privileges
  --paranoid N      kernel.perf_event_paranoid (default 2)
  --before STEPS    what pmuctl does first, for example 'offline 2'
  --checks          run the tests of hack/pmuvm/checks instead of bandmate; after --
                    a regular expression may select some by their names
  --program FILE    run this static program instead of bandmate
  In the guest, /bin/bandmate and /bin/pmuctl lie, which changes rates, adds exact
  counts, sleeps, and takes CPUs offline: measure --source imc -- pmuctl add '* 0 1e6 5e5' sleep 100ms

How it runs:
  --cache DIR       packages, kernel and module (default $XDG_CACHE_HOME/bandmate/pmu-vm)
  --refresh         fetch the packages again, for the newest kernel
  --prepare         fetch and build everything, boot nothing
  --timeout SECONDS of the virtual machine (default 120)
  --console         the kernel's messages on stderr
  -h, --help

Needs Go, gcc and a Debian amd64 host; fetches about 60 MB once.
Exit codes: the command's; 124 the virtual machine did not finish in time; 125
it could not be built or booted.
EOF
}

readonly trouble=125
fail() {
  echo "pmu-vm: $*" >&2
  exit "$trouble"
}

pmus= rates= module_options= cpu=max user= paranoid=2 before= program= run=/bin/bandmate
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/bandmate/pmu-vm
refresh= prepare= timeout=120 console= checks=
options() {
  while (($# > 0)); do
    case $1 in
    --pmus | --rates | --module | --cpu | --paranoid | --before | --program | --cache | --timeout)
      (($# > 1)) || fail "$1: want a value; see --help"
      ;;&
    --pmus) pmus=$2; shift ;;
    --rates) rates=$2; shift ;;
    --module) module_options=$2; shift ;;
    --cpu) cpu=$2; shift ;;
    --user) user=1 ;;
    --paranoid) paranoid=$2; shift ;;
    --before) before=$2; shift ;;
    --checks) checks=1 run=/bin/checks ;;
    --program) program=$2 run=/bin/program; shift ;;
    --cache) cache=$2; shift ;;
    --refresh) refresh=1 ;;
    --prepare) prepare=1 ;;
    --timeout) timeout=$2; shift ;;
    --console) console=1 ;;
    -h | --help) usage; exit 0 ;;
    --) shift; command=("$@"); return ;;
    *) fail "$1: unknown option; see --help" ;;
    esac
    shift
  done
  command=()
}

# private_apt is apt-get with package lists of our own: needs no root and leaves
# the host's alone.
private_apt() {
  mkdir -p "$cache/apt/lists/partial" "$cache/apt/archives/partial"
  "$1" -q -o Dir::State::lists="$cache/apt/lists" -o Dir::Cache::archives="$cache/apt/archives" \
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root "${@:2}"
}

depends() { private_apt apt-cache depends "$1" | sed -n 's/^ *Depends: //p'; }

# missing prints what the host lacks to use a package.
missing() {
  private_apt apt-get install -s --no-install-recommends "$1" | awk '/^Inst/ {print $2}' |
    grep -vE '^linux-(perf|libc-dev)$' || true
}

# packages fetches the kernel, what a module for it is built with, and QEMU
# where the host has none, and unpacks them into $cache/root.
packages() {
  [[ -z $refresh ]] || rm -rf "$cache/root" "$cache/kernel"
  local tool
  # What was fetched once may lack a tool that is needed now.
  for tool in make cpio; do
    PATH=$PATH:$cache/root/usr/bin:$cache/root/bin command -v "$tool" >/dev/null || rm -f "$cache/kernel"
  done
  [[ ! -e $cache/kernel ]] || return 0
  command -v apt-get >/dev/null && [[ $(dpkg --print-architecture) == amd64 ]] ||
    fail "needs the packages of a Debian amd64 host"
  private_apt apt-get update >&2 || fail "no package lists: is the network there?"
  local kernel headers list=() root=$cache/root.new
  # The kernel's name changes with every update of the package.
  kernel=$(depends linux-image-cloud-amd64 | sed -n 's/^linux-image-//p' | head -n 1)
  [[ -n $kernel ]] || fail "no package linux-image-cloud-amd64: needs a Debian host"
  headers=$(depends "linux-headers-$kernel" | grep -E '^linux-(headers|kbuild)-')
  mapfile -t list < <(
    printf '%s\n' "linux-image-$kernel" "linux-headers-$kernel" $headers
    command -v qemu-system-x86_64 >/dev/null || missing qemu-system-x86
    for tool in make cpio; do command -v "$tool" >/dev/null || echo "$tool"; done
  )
  rm -rf "$root"
  mkdir -p "$root"
  (cd "$cache/apt/archives" && private_apt apt-get download "${list[@]}" >&2) || fail "could not fetch ${list[*]}"
  local package
  for package in "$cache"/apt/archives/*.deb; do
    dpkg -x "$package" "$root"
  done
  rm -rf "$cache/apt" "$cache/root"
  mv "$root" "$cache/root"
  sed -i "s#/usr/src/#$cache/root/usr/src/#" "$cache/root/usr/src/linux-headers-$kernel/Makefile"
  echo "$kernel" >"$cache/kernel"
}

# compiler makes sure that there is one.
compiler() {
  command -v gcc >/dev/null && return
  [[ $(id -u) == 0 ]] || fail "gcc is missing: install the Debian package gcc"
  apt-get update -q >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends gcc libc6-dev >&2
}

# module builds the kernel module, unless its sources were built for this kernel before.
module() {
  local kernel stamp build=$cache/module
  kernel=$(<"$cache/kernel")
  stamp=$({ echo "$kernel"; cat hack/pmuvm/module/*; } | sha256sum)
  [[ ! -e $build/fakepmu.ko || ! -e $build/stamp || $(<"$build/stamp") != "$stamp" ]] || return 0
  compiler
  rm -rf "$build"
  cp -r hack/pmuvm/module "$build"
  PATH=$PATH:$cache/root/usr/bin make -C "$cache/root/usr/src/linux-headers-$kernel" M="$build" CC=gcc modules \
    >"$build/log" 2>&1 || { cat "$build/log" >&2; fail "the kernel module does not build"; }
  strip --strip-debug "$build/fakepmu.ko"
  echo "$stamp" >"$build/stamp"
}

# programs builds what runs in the guest.
programs() {
  mkdir -p "$guest"/{bin,dev,job,lib,proc,sys,tmp}
  CGO_ENABLED=0 GOARCH=amd64 go build -trimpath -ldflags '-s -w' -o "$guest/bin/" \
    ./cmd/bandmate ./hack/pmuvm/guest ./hack/pmuvm/pmuctl &&
    CGO_ENABLED=0 GOARCH=amd64 go test -c -trimpath -ldflags '-s -w' -o "$guest/bin/checks" ./hack/pmuvm/checks || fail "the programs do not build"
  mv "$guest/bin/guest" "$guest/init"
  cp "$cache/module/fakepmu.ko" "$guest/lib/"
  [[ -z $program ]] || install "$program" "$guest/bin/program"
}

# job writes down what the guest shall do, and packs its files.
job() {
  local name
  for name in pmus rates module_options user paranoid before; do
    printf '%s' "${!name}" >"$guest/job/$name"
  done
  printf '%s\0' "$run" "${command[@]}" >"$guest/job/args"
  (cd "$guest" && find . | PATH=$PATH:$cache/root/usr/bin:$cache/root/bin cpio --quiet -o -H newc -R 0:0 >"$scratch/initrd.cpio") ||
    fail "the guest's files cannot be packed: run again with --refresh"
}

# boot runs the virtual machine. Serial ports: kernel console, then the
# command's stdout, its stderr, and its exit code. The emulated time-stamp
# counters agree; the kernel believes it only when told, and else keeps a clock
# per CPU, by which the times of an event read from another CPU can go back.
boot() {
  local kernel root=$cache/root qemu firmware=() status=0
  kernel=$(<"$cache/kernel")
  qemu=$(command -v qemu-system-x86_64 || true)
  if [[ -e $root/usr/bin/qemu-system-x86_64 ]]; then
    qemu=$root/usr/bin/qemu-system-x86_64
    firmware=(-L "$root/usr/share/qemu" -L "$root/usr/share/seabios")
    export LD_LIBRARY_PATH=$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu
  fi
  [[ -n $qemu ]] || fail "no QEMU: run again with --refresh"
  local printing printing_errors
  exec {out}> >(cat)
  printing=$!
  exec {err}> >(cat >&2)
  printing_errors=$!
  timeout --foreground "$timeout" "$qemu" "${firmware[@]}" \
    -machine pc -accel tcg,thread=multi -cpu "$cpu" -smp 4,sockets=2,cores=2,threads=1 -m 2G \
    -object memory-backend-ram,id=m0,size=1G -object memory-backend-ram,id=m1,size=1G \
    -numa node,nodeid=0,cpus=0-1,memdev=m0 -numa node,nodeid=1,cpus=2-3,memdev=m1 -numa dist,src=0,dst=1,val=21 \
    -kernel "$root/boot/vmlinuz-$kernel" -initrd "$scratch/initrd.cpio" \
    -append "maxcpus=1 console=ttyS0 ${console:-quiet} panic=-1 reboot=t nokaslr mitigations=off random.trust_cpu=on tsc=reliable clocksource=tsc" \
    -nographic -no-reboot -nodefaults -vga none -net none \
    -add-fd "fd=$out,set=1" -add-fd "fd=$err,set=2" \
    -chardev file,id=out,path=/dev/fdset/1,append=on -chardev file,id=err,path=/dev/fdset/2,append=on \
    -serial "file:$scratch/console" -serial chardev:out -serial chardev:err -serial "file:$scratch/status" \
    </dev/null >"$scratch/qemu.log" 2>&1 || status=$?
  exec {out}>&- {err}>&-
  wait "$printing" "$printing_errors" || true
  unset LD_LIBRARY_PATH
  [[ -z $console ]] || tr -d '\r' <"$scratch/console" >&2
  if [[ -s $scratch/status ]]; then
    exit "$(<"$scratch/status")"
  fi
  tr -d '\r' <"$scratch/console" | tail -n 30 >&2
  cat "$scratch/qemu.log" >&2
  if ((status == 124)); then
    echo "pmu-vm: not finished after $timeout s; raise --timeout" >&2
    exit 124
  fi
  fail "the virtual machine ended without running the command"
}

options "$@"
[[ -z $checks ]] || command=(-test.v -test.run "^TestCounters\$/${command[0]:-}")
if [[ -z $prepare && $run == /bin/bandmate && ${#command[@]} == 0 ]]; then
  usage >&2
  exit "$trouble"
fi
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
scratch=$(mktemp -d)
guest=$scratch/guest # its root file system
trap 'rm -rf "$scratch"' EXIT
(
  flock 9
  packages
  module
) 9>"$cache/lock" || exit "$trouble"
[[ -z $prepare ]] || exit 0
programs
job
boot
