#!/usr/bin/env bash
# Real services onboarded, predicted and stopped: redis, nginx (a file, and proxied) and
# memcached with the built-in load, PostgreSQL with pgbench, and what a user does wrong
# with them. Needs two CPUs. What it measures on a busy machine is not judged here: that
# every profile is complete and every answer follows from it is.
source "$(dirname "$0")/lib.sh"
source hack/services.sh
need jq jq

go build -o "$scratch/bandmate" ./cmd/bandmate
export BANDMATE_STORE=$scratch/store
bandmate() { "$scratch/bandmate" --quiet "$@"; }

# exits CODE COMMAND... checks an exit code and keeps the output in out and err.
exits() {
  local want=$1 status=0
  shift
  "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
  [[ $status == "$want" ]] || { echo "exit code $status, want $want: $*"; cat "$scratch/out" "$scratch/err"; return 1; }
}
complains() { grep -qE -- "$1" "$scratch/err" || { echo "no line like $1 in:"; cat "$scratch/err"; return 1; }; }

# small NAME FLAG... -- SERVER... onboards a service with few points.
small() {
  exits 0 bandmate onboard "$1" --machine here --service --source probe --levels 100% --precision 5 \
    --load-time 400ms --pressure-time 2s "${@:2}"
}

# onboard NAME onboards a service.
onboard() {
  local flags
  load_flags "$1"
  # shellcheck disable=SC2086 # a command of words
  small "$1" "${flags[@]}" -- ${server[$1]}
}

# redirected onboards a path of nginx that is answered by a redirect, and checks that the
# profile says so.
redirected() {
  mkdir -p "$scratch/www/folder" && chmod a+rx "$scratch/www/folder"
  # shellcheck disable=SC2086 # a command of words
  small redirected --request "http://127.0.0.1:${port[nginx]}/folder" -- ${server[nginx]} &&
    bandmate profiles show redirected -o json |
    jq -e '.spec.warnings | any(test("answered by a redirect to .*/folder/"))'
}

# complete NAME checks what a profile of a service holds. A foreign load tells no latency,
# and has no load but that of the saturation. Pressure makes nothing faster, and a busy
# machine some of it by half.
complete() {
  local loads='(.factors | length) == 2 and (.loads | length) > 0'
  [[ $(told "$1") == true ]] || loads='(.factors | length) == 1 and .loads == null'
  exits 0 bandmate profiles show "$1" -o json &&
    jq -e ".spec.service | .saturationRequestsPerSecond > 100 and $loads
      and ([.factors[].curves[].points[].normalizedPerformance] | max) < 3" "$scratch/out"
}

# follows NAME WITH checks that the answers of predict fit together.
follows() {
  local saturation
  saturation=$(bandmate profiles show "$1" -o json | jq .spec.service.saturationRequestsPerSecond)
  for share in 0.2 0.5; do
    exits 0 bandmate predict "$1" "$2" --load "$(jq -n "$saturation * $share")" -o json || return
    jq -e --argjson latencies "$(told "$1")" '.slowdown as $s | .service | .saturationBeside <= .saturationAlone * 1.001 and
      (.p99AloneSeconds != null) == $latencies and
      (.p99BesideSeconds == null or .p99BesideSeconds > 0.5 * .p99AloneSeconds * $s)' "$scratch/out" || return
  done
  exits 5 bandmate predict "$1" "$2" --load "$(jq -n "$saturation * 1.5")" --max-p99 1s
}

# told NAME prints whether the load of a service tells latencies.
told() { if [[ ${load[$1]} == *--request=* ]]; then echo true; else echo false; fi; }

# nothing_left NAME checks that no process of a server is left, by its command, its port
# and its folder.
nothing_left() {
  ! pgrep -af -- "$scratch/|[ :]${port[$1]}( |$)" && ! answers "${port[$1]}" &&
    ! find /proc/[0-9]*/cwd -lname "$scratch/*" 2>/dev/null | grep .
}
answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

prepare_services
exits 0 bandmate machine --quick --name here
for name in "${services[@]}"; do
  check "$name: onboarded" onboard "$name"
  check "$name: the profile is complete" complete "$name"
  check "$name: answers follow from it" follows "$name" redis
  check "$name: nothing is left" nothing_left "$name"
done

check "a request that is redirected" redirected
redis=${port[redis]} free=$(free_port)
refuses() { exits 1 bandmate onboard bad --machine here --service --ready-timeout 2s "${@:2}" && complains "$1"; }
check "a request that is rejected" refuses 'a request fails.*unknown command' --ready "redis://127.0.0.1:$redis" --request "redis://127.0.0.1:$redis/NOSUCH" -- redis-server --port "$redis" --save ''
check "a server of another port" refuses 'does not answer at' --request "redis://127.0.0.1:$free" -- redis-server --port "$redis" --save ''
check "a server that dies" refuses 'the server ended' --request "redis://127.0.0.1:$redis" -- redis-server --port notaport
check "a server that goes into the background" refuses 'foreground' --request "redis://127.0.0.1:$redis" -- redis-server --port "$redis" --daemonize yes --save ''
redis-server --port "$redis" --save '' >/dev/null &
taken=$!
wait_until 10 answers "$redis"
check "a port that is taken" refuses 'something answers at' --request "redis://127.0.0.1:$redis" -- redis-server --port "$redis" --save ''
kill "$taken"
check "nothing is left" wait_until 10 nothing_left redis

summary
