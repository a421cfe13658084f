#!/usr/bin/env bash
# Real services onboarded, predicted and stopped: redis, nginx (a file, and proxied) and
# memcached, each with the built-in load, and what a user does wrong with them. Needs two
# CPUs; takes some minutes. What it measures on a busy machine is not judged here: that
# every profile is complete and every answer follows from it is.
source "$(dirname "$0")/lib.sh"
need redis-server redis-server
need nginx nginx-light
need memcached memcached
need jq jq

go build -o "$scratch/bandmate" ./cmd/bandmate
export BANDMATE_STORE=$scratch/store
bandmate() { "$scratch/bandmate" --quiet "$@"; }

# free_port prints a port that nobody listens on.
free_port() {
  local port
  for port in $(shuf -i 20000-30000 -n 50); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
  return 1
}

# exits CODE COMMAND... checks an exit code and keeps the output in out and err.
exits() {
  local want=$1 status=0
  shift
  "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
  [[ $status == "$want" ]] || { echo "exit code $status, want $want: $*"; cat "$scratch/out" "$scratch/err"; return 1; }
}
complains() { grep -qE -- "$1" "$scratch/err" || { echo "no line like $1 in:"; cat "$scratch/err"; return 1; }; }

# onboard NAME URL SERVER... onboards a service, small.
onboard() {
  local name=$1 url=$2
  shift 2
  for _ in 1 2 3; do
    exits 0 bandmate onboard "$name" --machine here --service --source probe --levels 100% --precision 5 \
      --load-time 800ms --pressure-time 3s --request "$url" -- "$@" && return
    # What is asked of a user whose machine is too busy to measure on.
    complains 'repeat the measurement|quieter|try again' || return
  done
  return 1
}

# complete NAME checks what a profile of a service holds.
complete() {
  exits 0 bandmate profiles show "$1" -o json &&
    jq -e '.spec.service | .saturationRequestsPerSecond > 100 and (.factors | length) == 2 and (.loads | length) > 0
      and ([.factors[].curves[].points[].normalizedPerformance] | max) < 1.4' "$scratch/out"
}

# follows NAME WITH checks that the answers of predict fit together.
follows() {
  local saturation
  saturation=$(bandmate profiles show "$1" -o json | jq .spec.service.saturationRequestsPerSecond)
  for share in 0.2 0.5; do
    exits 0 bandmate predict "$1" "$2" --load "$(jq -n "$saturation * $share")" -o json || return
    jq -e '.slowdown as $s | .service | .p99AloneSeconds > 0 and .saturationBeside <= .saturationAlone * 1.001 and
      (.p99BesideSeconds == null or .p99BesideSeconds > 0.5 * .p99AloneSeconds * $s)' "$scratch/out" || return
  done
  exits 5 bandmate predict "$1" "$2" --load "$(jq -n "$saturation * 1.5")" --max-p99 1s
}

# nothing_left PATTERN checks that no process of a server is left.
nothing_left() { ! pgrep -f -- "$1"; }

mkdir "$scratch/www"
head -c 20000 /dev/urandom >"$scratch/www/file"
chmod -R a+rX "$scratch"
# nginx_conf NAME LOCATION writes a configuration with a location.
nginx_conf() {
  mkdir "$scratch/$1"
  cat >"$scratch/$1/nginx.conf" <<CONF
daemon off;
pid $scratch/$1/pid;
error_log $scratch/$1/error.log;
worker_processes 1;
events {}
http {
  access_log off;
  client_body_temp_path $scratch/$1;
  proxy_temp_path $scratch/$1;
  fastcgi_temp_path $scratch/$1;
  uwsgi_temp_path $scratch/$1;
  scgi_temp_path $scratch/$1;
  server { listen 127.0.0.1:$3; location / { $2 } }
  $4
}
CONF
}

redis=$(free_port) web=$(free_port) proxy=$(free_port) behind=$(free_port) cache=$(free_port)
nginx_conf web "root $scratch/www;" "$web" ""
nginx_conf proxy "proxy_pass http://127.0.0.1:$behind;" "$proxy" "server { listen 127.0.0.1:$behind; location / { root $scratch/www; } }"

exits 0 bandmate machine --quick --name here
check "redis: onboarded" onboard redis "redis://127.0.0.1:$redis/GET/key:{100000}" redis-server --port "$redis" --save '' --appendonly no
check "nginx, a file: onboarded" onboard nginx "http://127.0.0.1:$web/file" nginx -c "$scratch/web/nginx.conf"
check "nginx, proxied: onboarded" onboard proxied "http://127.0.0.1:$proxy/file" nginx -c "$scratch/proxy/nginx.conf"
check "memcached: onboarded" onboard memcached "memcached://127.0.0.1:$cache/key:{100000}" memcached -u nobody -p "$cache" -U 0 -l 127.0.0.1
for name in redis nginx proxied memcached; do
  check "$name: the profile is complete" complete "$name"
  check "$name: answers follow from it" follows "$name" redis
done
check "redis: nothing is left" nothing_left "redis-server.*:$redis"
check "nginx: nothing is left" nothing_left "$scratch/(web|proxy)/nginx.conf"
check "memcached: nothing is left" nothing_left "memcached.*$cache"

refuses() { exits 1 bandmate onboard bad --machine here --service --ready-timeout 2s "${@:2}" && complains "$1"; }
check "a request that is rejected" refuses 'a request fails.*unknown command' --ready "redis://127.0.0.1:$redis" --request "redis://127.0.0.1:$redis/NOSUCH" -- redis-server --port "$redis" --save ''
check "a server of another port" refuses 'does not answer at' --request "redis://127.0.0.1:$cache" -- redis-server --port "$redis" --save ''
check "a server that dies" refuses 'the server ended' --request "redis://127.0.0.1:$redis" -- redis-server --port notaport
check "a server that goes into the background" refuses 'foreground' --request "redis://127.0.0.1:$redis" -- redis-server --port "$redis" --daemonize yes --save ''
redis-server --port "$redis" --save '' >/dev/null &
server=$!
wait_until 10 bash -c "exec 3<>/dev/tcp/127.0.0.1/$redis" 2>/dev/null
check "a port that is taken" refuses 'something answers at' --request "redis://127.0.0.1:$redis" -- redis-server --port "$redis" --save ''
kill "$server"

summary
