#!/usr/bin/env bash
# Runs every fuzz target of the main module for a moment: enough to show that
# the targets work and that nothing shallow is broken, not a search.
#
#   FUZZ_EXECUTIONS  inputs per target (default 50000), about three seconds. A
#                    count, because with a duration the go command reports
#                    "context deadline exceeded" now and then on a busy machine
#                    (go.dev/issue/75804).
#   FUZZ_SECONDS     no target is started after this many seconds (default 300).
#
# A failing input is written to the package's testdata/fuzz and fails every
# later `go test` until it is fixed; commit it with the fix.
source "$(dirname "$0")/lib.sh"
executions=${FUZZ_EXECUTIONS:-50000}
seconds=${FUZZ_SECONDS:-300}

# Packages that need few others come first: what they need is built with coverage, too,
# which takes minutes where nothing is cached.
packages=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{len .Deps}} {{.ImportPath}} {{.Dir}}{{end}}' ./... | sort -n)
targets=0
left_out=()
while read -r _ package dir; do
  # A look at the text first: listing by `go test -list` links every package.
  names=$({ grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go || true; } | awk '{print $2}')
  built=
  for name in $names; do
    if ((SECONDS >= seconds)); then
      left_out+=("$package $name")
      continue
    fi
    targets=$((targets + 1))
    echo "fuzz $package $name"
    # One program serves all targets of a package, and the time of building it does not
    # count against the first.
    [[ -n $built ]] || go test -c -fuzz . -o "$scratch/fuzz.test" "$package"
    built=yes
    log=$scratch/log
    status=0
    (cd "$dir" && timeout -s INT 180 "$scratch/fuzz.test" -test.run '^$' -test.fuzz "^$name\$" -test.fuzzcachedir "$scratch/fuzz" \
      -test.fuzztime "${executions}x" -test.fuzzminimizetime 5x) >"$log" 2>&1 || status=$?
    if ((status != 0)); then
      cat "$log"
      ((status != 124)) || echo "$name takes longer than 180 s for $executions inputs: make one input cheaper" >&2
      exit 1
    fi
    tail -n 2 "$log"
  done
done <<<"$packages"

for target in "${left_out[@]}"; do
  echo "not run, $seconds s are over: $target"
done
echo "$targets fuzz targets passed"
((targets > 0))
