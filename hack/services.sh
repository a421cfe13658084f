# Real servers to onboard: redis, nginx (a file, and proxied), memcached and PostgreSQL,
# each on a port of its own; and sets, a redis whose requests take about a millisecond,
# to intersect two sets of it. A script sources it after lib.sh and calls prepare_services;
# then server[NAME] starts NAME in the foreground, and load[NAME] are the flags of
# bandmate onboard that load it. No word of either holds a space or a quote, but the last
# of load, which begins after "=".
# shellcheck shell=bash
declare -A server load port
services=(redis nginx proxied memcached postgres)

# free_port prints a port that nobody listens on and that it has not printed before.
free_port() {
  local number
  for number in $(shuf -i 20000-30000 -n 50); do
    [[ -e $scratch/port-$number ]] && continue
    (exec 3<>"/dev/tcp/127.0.0.1/$number") 2>/dev/null || { touch "$scratch/port-$number"; echo "$number"; return; }
  done
  return 1
}

# postgres_programs prints the folder of PostgreSQL's programs, which Debian keeps out of
# the path.
postgres_programs() { compgen -G '/usr/lib/postgresql/*/bin' | sort -V | tail -n 1; }

prepare_services() {
  need redis-server redis-server
  need nginx nginx-light
  need memcached memcached
  need "$(postgres_programs)/initdb" postgresql
  local name
  for name in "${services[@]}" sets behind; do port[$name]=$(free_port); done
  chmod a+rX "$scratch"
  prepare_redis
  prepare_sets
  prepare_nginx
  server[memcached]="memcached -u nobody -p ${port[memcached]} -U 0 -l 127.0.0.1"
  load[memcached]="--request=memcached://127.0.0.1:${port[memcached]}/key:{100000}"
  prepare_postgres
}

prepare_redis() {
  printf '%s\n' "port ${port[redis]}" 'bind 127.0.0.1' 'save ""' >"$scratch/redis.conf"
  server[redis]="redis-server $scratch/redis.conf"
  load[redis]="--request=redis://127.0.0.1:${port[redis]}/GET/key:{100000}"
}

# prepare_sets makes a dump that the server reads when it starts.
prepare_sets() {
  mkdir "$scratch/sets"
  printf '%s\n' "port ${port[sets]}" 'bind 127.0.0.1' 'save ""' "dir $scratch/sets" >"$scratch/sets/redis.conf"
  server[sets]="redis-server $scratch/sets/redis.conf"
  load[sets]="--request=redis://127.0.0.1:${port[sets]}/SINTERCARD/2/a/b"
  {
    # shellcheck disable=SC2086 # a command of words
    ${server[sets]} &
    # Joined, because the shell goes on after what fails before "||".
    timeout 10 sh -c "until redis-cli -p ${port[sets]} ping; do sleep 0.1; done" &&
      redis-cli -e -p "${port[sets]}" eval 'for s = 1, 2 do for i = 1, 15000 do redis.call("sadd", KEYS[s], math.random(2^30)) end end' 2 a b &&
      redis-cli -e -p "${port[sets]}" shutdown save &&
      wait $!
  } >"$scratch/sets/log" 2>&1 || { kill $! 2>/dev/null || true; cat "$scratch/sets/log" >&2; return 1; }
}

prepare_nginx() {
  mkdir "$scratch/www"
  head -c 20000 /dev/urandom >"$scratch/www/file"
  chmod -R a+rX "$scratch/www"
  nginx_conf nginx "root $scratch/www;" ""
  nginx_conf proxied "proxy_pass http://127.0.0.1:${port[behind]};" "server { listen 127.0.0.1:${port[behind]}; location / { root $scratch/www; } }"
}

# nginx_conf NAME LOCATION MORE makes a server of nginx.
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
  server { listen 127.0.0.1:${port[$1]}; location / { $2 } }
  $3
}
CONF
  server[$1]="nginx -c $scratch/$1/nginx.conf"
  load[$1]="--request=http://127.0.0.1:${port[$1]}/file"
}

# prepare_postgres makes a database for pgbench. PostgreSQL does not run as root.
prepare_postgres() {
  local programs data=$scratch/postgres as=()
  programs=$(postgres_programs)
  mkdir "$data"
  if [[ $(id -u) == 0 ]]; then
    as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
    chown postgres "$data"
  fi
  {
    "${as[@]}" "$programs/initdb" -D "$data/db" -A trust -U postgres --no-sync &&
      "${as[@]}" tee -a "$data/db/postgresql.conf" <<CONF &&
port = ${port[postgres]}
listen_addresses = '127.0.0.1'
unix_socket_directories = '$data'
fsync = off
autovacuum = off
CONF
      "${as[@]}" "$programs/pg_ctl" -D "$data/db" -l "$data/log" -w start &&
      "$programs/pgbench" --initialize --quiet --host "$data" --port "${port[postgres]}" --username postgres postgres &&
      "${as[@]}" "$programs/pg_ctl" -D "$data/db" -w stop
  } >"$scratch/initdb" 2>&1 || { "${as[@]}" "$programs/pg_ctl" -D "$data/db" stop || true; cat "$scratch/initdb"; return 1; } >&2
  server[postgres]="${as[*]} $programs/postgres -D $data/db"
  # pgbench tells of each transaction that it begins.
  load[postgres]="--ready=tcp://127.0.0.1:${port[postgres]} --progress=executing.script --load-command=$programs/pgbench --debug --select-only --no-vacuum --client=4 --time=3600 --host=$data --port=${port[postgres]} --username=postgres postgres"
}

# load_flags NAME sets the array flags to the words of load[NAME].
load_flags() {
  local before=${load[$1]%%--load-command=*}
  read -ra flags <<<"$before"
  [[ $before == "${load[$1]}" ]] || flags+=("${load[$1]#"$before"}")
}
