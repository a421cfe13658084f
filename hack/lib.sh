# What the scripts share; one sources it first, from anywhere:
#
#   source "$(dirname "$0")/lib.sh"
#
# Goes to the root of the repository and makes the folder $scratch. At the end
# the script's own function cleanup is called, if it has one, and $scratch removed.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Not under TMPDIR: other users enter it, and paths of sockets are short.
scratch=$(mktemp -d /tmp/bandmate.XXXXXX)
chmod 755 "$scratch"
passed=0 failed=0 skipped=0

finish() {
  local status=$?
  trap - EXIT
  if declare -F cleanup >/dev/null; then cleanup || status=1; fi
  rm -rf "$scratch"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

# need COMMAND PACKAGE... makes sure that a command exists; as root it installs
# the Debian packages.
need() {
  local command=$1
  shift
  command -v "$command" >/dev/null && return
  if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
    echo "$command is missing: install the Debian package $1" >&2
    return 1
  fi
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"; } >&2
}

# modules prints the folder of every Go module.
modules() { find . -name go.mod -not -path '*/testdata/*' -printf '%h\n' | sort; }

# wait_until SECONDS COMMAND... repeats a command until it succeeds, or fails when
# the time is over.
wait_until() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < deadline)) || return 1
    sleep 0.1
  done
}

# check NAME COMMAND... runs a command and counts. Where it fails, what it printed
# is shown, and what the script's function details prints.
check() {
  local name=$1
  shift
  if "$@" >"$scratch/check" 2>&1; then
    passed=$((passed + 1))
    echo "ok    $name"
    return
  fi
  failed=$((failed + 1))
  echo "FAIL  $name"
  {
    echo "$*"
    cat "$scratch/check"
    if declare -F details >/dev/null; then details || true; fi
  } 2>&1 | sed 's/^/      /'
}

# eventually NAME COMMAND... is check with half a minute of patience.
eventually() {
  local name=$1
  shift
  check "$name" wait_until 30 "$@"
}

# skip NAME WHY counts what this machine cannot check: a failure where everything
# is promised.
skip() {
  if [[ -n ${BANDMATE_TEST_REQUIRE_ALL-} ]]; then
    failed=$((failed + 1))
    echo "FAIL  $1: $2"
  else
    skipped=$((skipped + 1))
    echo "skip  $1: $2"
  fi
}

# summary prints the counts, and fails where a check failed or none was made.
summary() {
  echo "$passed passed, $failed failed, $skipped skipped in $SECONDS s"
  ((failed == 0 && passed > 0))
}

# go_tests COMMAND... runs a Go test that prints as -test.v does, and turns that
# into a line for each test without subtests. Where one fails, everything follows.
go_tests() {
  local status=0
  "$@" >"$scratch/tests" 2>&1 || status=$?
  awk -v promised="${BANDMATE_TEST_REQUIRE_ALL-}" '
    /^ *--- (PASS|FAIL|SKIP): / {
      name = $3
      time = $4
      result[name] = substr($2, 1, 4)
      seconds[name] = substr(time, 2, length(time) - 2)
      order[++n] = name
      parent = name
      while (sub(/\/[^\/]*$/, "", parent)) inner[parent] = 1
    }
    END {
      for (i = 1; i <= n; i++) {
        name = order[i]
        if (name in inner) continue
        count[result[name]]++
        text = name
        sub(/^Test/, "", text)
        gsub(/_/, " ", text)
        printf "%-4s %8s  %s\n", result[name], seconds[name], text
      }
      printf "%d passed, %d failed, %d skipped\n", count["PASS"], count["FAIL"], count["SKIP"]
      exit count["PASS"] == 0 || count["FAIL"] > 0 || (promised != "" && count["SKIP"] > 0)
    }' "$scratch/tests" || status=1
  ((status == 0)) || cat "$scratch/tests"
  return "$status"
}
