#!/usr/bin/env bash
# Onboards real services and neighbors, then runs each service beside each neighbor at
# three loads, and prints predicted and measured p99 and saturation as a table, with how
# far they are apart. Wants the machine to itself: about ten minutes for each service, two
# hours at most.
#
#   hack/evaluate-services.sh [SERVICE...]   redis, sets, nginx, proxied, memcached, postgres
#
# BLOCKS=16 blocks of four slices of 200 ms are taken for each figure.
source "$(dirname "$0")/lib.sh"
source hack/services.sh
need jq jq
need zstd zstd
readonly limit=7200

go build -o "$scratch/bandmate" ./cmd/bandmate
go build -o "$scratch/evaluate" ./hack/evaluate-services
export BANDMATE_STORE=$scratch/store
bandmate() { "$scratch/bandmate" --quiet "$@"; }

(($# > 0)) || set -- redis sets nginx proxied memcached postgres
{ tar -c /usr/lib/"$(uname -m)"-linux-gnu 2>/dev/null || true; } | head -c 64M >"$scratch/input"
prepare_services
bandmate machine --name here >&2

neighbors=()
for name in triad pointer-chase; do
  bandmate onboard "$name" --machine here -- "$scratch/bandmate" sample "$name" >&2
  neighbors+=(-neighbor "$name sh -c 'while :; do $scratch/bandmate sample $name >/dev/null; done'")
done
bandmate onboard zstd --machine here -- zstd -q -9 -c "$scratch/input" >&2
neighbors+=(-neighbor "zstd sh -c 'while :; do zstd -q -9 -c $scratch/input >/dev/null; done'")

evaluated=()
for name in $(printf '%s\n' redis memcached "$@" | sort -u); do
  load_flags "$name"
  # shellcheck disable=SC2086 # a command of words
  bandmate onboard "$name" --machine here --service "${flags[@]}" -- ${server[$name]} >&2
done
for name in redis memcached; do
  rate=$(bandmate profiles show "$name" -o json | jq '.spec.service.factors[-1].requestsPerSecond | floor')
  neighbors+=(-neighbor-service "$name $rate ${load[$name]#--request=} ${server[$name]}")
done
for name in "$@"; do
  if [[ $name == postgres ]]; then
    # evaluate reads transactions from pgbench's log, and says for how long it runs.
    pgbench=${load[$name]#*--load-command=} pgbench=${pgbench/--debug /} pgbench=${pgbench/--time=3600 /}
    evaluated+=(-pgbench "$name tcp://127.0.0.1:${port[$name]} $pgbench -- ${server[$name]}")
  else
    evaluated+=(-service "$name ${load[$name]#--request=} ${server[$name]}")
  fi
done

timeout --kill-after=10 "$limit" "$scratch/evaluate" -bandmate "$scratch/bandmate" -store "$scratch/store" -blocks "${BLOCKS:-16}" "${evaluated[@]}" "${neighbors[@]}"
