#!/usr/bin/env bash
# A real Slurm cluster on this machine: munged, slurmctld and one slurmd per node
# on loopback, everything they write in one folder. No systemd, nothing in /etc,
# no fixed ports; several clusters run side by side.
#
#   hack/slurm.sh up DIR NODES    starts it; prints the line to evaluate:
#                                 export SLURM_CONF=DIR/slurm.conf
#   hack/slurm.sh down DIR        cancels its jobs, ends every process of it
#
# Nodes are n01, n02, …; they share the machine's CPUs, whatever they claim.
# Partitions: pack (default; jobs on distinct cores), share (OverSubscribe=FORCE:2),
# user (YES:2), excl (EXCLUSIVE), and odd, of every second node.
#
# Environment, all optional:
#   NODE_CPUS=8 NODE_SOCKETS=1 NODE_FEATURES=a,b   of every node
#   FIRST_GRES=gpu:2                               generic resources of n01,
#   GRES_EVERY=4                                   of n05, n09 and so on as well
#   SELECT=CR_Core_Memory                          what jobs consume (default CR_Core)
#   TASK_PLUGIN=task/affinity                      pins jobs to their CPUs
#   EXTRA_CONF=TEXT                                more lines for slurm.conf
#   LUA_DIR=DIR                                    job_submit.lua and cli_filter.lua to put beside slurm.conf
#
# Needs Debian's slurmctld, slurmd, slurm-client, munge; installs them when they
# are missing and it runs as root. Without root it works too, for jobs of the
# user who started it.
set -euo pipefail

readonly packages=(slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge)
readonly start_seconds=60 end_seconds=15

fail() {
  echo "hack/slurm.sh: $*" >&2
  exit 1
}

usage() {
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2
  exit 2
}

prerequisites() {
  export PATH=$PATH:/usr/sbin:/sbin
  local missing=() name
  for name in slurmctld slurmd squeue munged; do
    command -v "$name" >/dev/null || missing+=("$name")
  done
  ((${#missing[@]})) || return 0
  if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
    fail "${missing[*]} missing: install the Debian packages ${packages[*]}"
  fi
  # The packages would start a munged and a slurmctld of their own.
  local policy=/usr/sbin/policy-rc.d made=
  if [[ ! -e $policy ]]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    made=$policy
  fi
  local status=0
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${packages[@]}"; } >&2 || status=$?
  [[ -z $made ]] || rm -f "$made"
  ((status == 0)) || fail "installing ${packages[*]} failed"
}

# free_ports prints the first of N ports in a row on which nobody listens, below
# those that the kernel gives to clients.
free_ports() {
  local count=$1 base port taken=' ' try address
  while read -r _ address _; do
    [[ $address != *:* ]] || taken+="$((16#${address##*:})) "
  done < <(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null)
  for try in {1..200}; do
    base=$((10000 + RANDOM % (22000 - count)))
    for ((port = base; port < base + count; port++)); do
      [[ $taken != *" $port "* ]] || continue 2
    done
    echo "$base"
    return
  done
  fail "no $count free ports in a row after $try attempts"
}

write_conf() {
  local dir=$1 nodes=$2 base=$3 host user cpus sockets gres i odd=() lua=()
  host=$(hostname -s)
  user=$(id -un)
  cpus=${NODE_CPUS:-8}
  sockets=${NODE_SOCKETS:-1}
  ((cpus % sockets == 0)) || fail "NODE_CPUS=$cpus is no multiple of NODE_SOCKETS=$sockets"
  if [[ -n ${LUA_DIR:-} ]]; then
    [[ ! -e $LUA_DIR/job_submit.lua ]] || { cp "$LUA_DIR/job_submit.lua" "$dir/" && lua+=(JobSubmitPlugins=lua); }
    [[ ! -e $LUA_DIR/cli_filter.lua ]] || { cp "$LUA_DIR/cli_filter.lua" "$dir/" && lua+=(CliFilterPlugins=lua); }
  fi
  cat <<CONF
ClusterName=bandmate
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
SlurmctldPort=$base
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$dir/munge/socket
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/pid/slurmctld.pid
SlurmdPidFile=$dir/pid/slurmd.%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=${TASK_PLUGIN:-task/none}
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
AccountingStoreFlags=job_comment
JobCompType=jobcomp/none
MpiDefault=none
MailProg=/bin/true
SwitchType=switch/none
ReturnToService=2
# Nodes may claim more CPUs and memory than the machine has.
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=${SELECT:-CR_Core}
SchedulerType=sched/backfill
# Jobs start as soon as they can: tests wait for them.
SchedulerParameters=bf_interval=2,bf_max_job_test=200,sched_min_interval=0,batch_sched_delay=0,sched_interval=2,default_queue_depth=500
PriorityType=priority/multifactor
SlurmctldTimeout=30
SlurmdTimeout=300
# A machine that is busy with all the nodes takes its time to start a job: Slurm would
# take it for lost, and end it.
BatchStartTimeout=300
MessageTimeout=60
InactiveLimit=0
KillWait=2
MaxJobCount=20000
${lua[0]:-}
${lua[1]:-}
${FIRST_GRES:+GresTypes=${FIRST_GRES%%:*}}
${EXTRA_CONF:-}
CONF
  for ((i = 1; i <= nodes; i++)); do
    gres=
    (((i - 1) % ${GRES_EVERY:-$nodes})) || gres=${FIRST_GRES:-}
    printf 'NodeName=n%02d NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=%d Sockets=%d CoresPerSocket=%d ThreadsPerCore=1 RealMemory=1000 State=UNKNOWN%s%s\n' \
      "$i" "$host" $((base + i)) "$cpus" "$sockets" $((cpus / sockets)) "${NODE_FEATURES:+ Features=$NODE_FEATURES}" "${gres:+ Gres=$gres}"
    ((i % 2 == 0)) || odd+=("$(printf 'n%02d' "$i")")
  done
  cat <<CONF
PartitionName=pack  Nodes=ALL Default=YES OverSubscribe=NO MaxTime=60 State=UP
PartitionName=share Nodes=ALL OverSubscribe=FORCE:2 MaxTime=60 State=UP
PartitionName=user  Nodes=ALL OverSubscribe=YES:2 MaxTime=60 State=UP
PartitionName=excl  Nodes=ALL OverSubscribe=EXCLUSIVE MaxTime=60 State=UP
PartitionName=odd   Nodes=$(IFS=,; echo "${odd[*]}") OverSubscribe=NO MaxTime=60 State=UP
CONF
}

# reachable fails where munged or the jobs of other users could not enter the folder, or
# somebody else could replace it.
reachable() {
  local parent=$1 mode
  while [[ $parent != / ]]; do
    parent=$(dirname "$parent")
    mode=$(stat -c %a "$parent")
    (((8#$mode & 8#022) == 0 || (8#$mode & 8#1000) != 0)) ||
      fail "$parent may be written to by others, and munge refuses it: chmod go-w $parent, or take another folder, such as /tmp/slurm"
    ((8#$mode & 8#001)) ||
      fail "$parent cannot be entered by others, nor can munge's socket in it: chmod o+x $parent, or take another folder, such as /tmp/slurm"
  done
}

up() {
  local dir=$1 nodes=$2 i name base deadline
  [[ $nodes =~ ^[1-9][0-9]*$ ]] || usage
  prerequisites
  [[ ! -e $dir/slurm.conf ]] || fail "$dir has a cluster already: end it with hack/slurm.sh down $dir, and remove the folder"
  mkdir -p "$dir"/{state,spool,log,pid,munge}
  dir=$(cd "$dir" && pwd)
  ((${#dir} <= 80)) || fail "$dir: too long for the path of a socket, want at most 80 characters"
  # Jobs of other users find the socket and their spool folder.
  chmod 755 "$dir" "$dir"/{spool,munge}

  (umask 077 && head -c 64 /dev/urandom >"$dir/munge/key")
  unfinished=$dir
  trap '[[ -z $unfinished ]] || down "$unfinished" >/dev/null 2>&1' EXIT
  reachable "$dir"
  munged --key-file="$dir/munge/key" --socket="$dir/munge/socket" --pid-file="$dir/pid/munged.pid" \
    --log-file="$dir/log/munged.log" --seed-file="$dir/munge/seed" --num-threads=2 2>"$dir/log/start" ||
    fail "munged does not start: $(tail -n 3 "$dir/log/start"): take a folder whose parents only you and root may write to, such as ${TMPDIR:-/tmp}/slurm"
  base=$(free_ports $((nodes + 1)))
  write_conf "$dir" "$nodes" "$base" >"$dir/slurm.conf"
  if [[ -n ${FIRST_GRES:-} ]]; then
    # A GPU needs a file; which one does not matter without cgroups.
    for ((i = 0; i < ${FIRST_GRES##*:}; i++)); do : >"$dir/gres$i"; done
    local files="$dir/gres[0-$((i - 1))]"
    for ((i = 1; i <= nodes; i += ${GRES_EVERY:-$nodes})); do
      printf 'NodeName=n%02d Name=%s File=%s\n' "$i" "${FIRST_GRES%%:*}" "$files"
    done >"$dir/gres.conf"
  fi
  export SLURM_CONF=$dir/slurm.conf
  slurmctld -i >"$dir/log/start" 2>&1 || fail "slurmctld does not start: $(tail -n 3 "$dir/log/start" "$dir/log/slurmctld.log")"
  for ((i = 1; i <= nodes; i++)); do
    name=$(printf 'n%02d' "$i")
    mkdir -p "$dir/spool/$name"
    slurmd -N "$name" >>"$dir/log/start" 2>&1 || fail "slurmd of $name does not start: $(tail -n 3 "$dir/log/start")"
  done
  deadline=$((SECONDS + start_seconds))
  until [[ $(sinfo -h -N -p pack -t idle -o %N 2>/dev/null | wc -l) == "$nodes" ]]; do
    ((SECONDS < deadline)) || fail "the nodes are not idle after $start_seconds s: $(sinfo -h -N -p pack 2>&1); see $dir/log"
    sleep 0.2
  done
  unfinished=
  echo "export SLURM_CONF=$dir/slurm.conf"
}

# processes prints the ids of everything that was started with the cluster's
# configuration: daemons, steps, and what runs in jobs.
processes() {
  local environ pid comm
  for environ in $(grep -lzxF "SLURM_CONF=$1/slurm.conf" /proc/[0-9]*/environ 2>/dev/null); do
    pid=${environ#/proc/} pid=${pid%/environ}
    comm=$(cat "/proc/$pid/comm" 2>/dev/null) || continue
    case $comm in
      slurmctld | slurmd | slurmstepd) echo "$pid" ;;
      *) ! grep -qz '^SLURMD_NODENAME=' "$environ" 2>/dev/null || echo "$pid" ;;
    esac
  done
  # A daemon that was killed leaves its file, and its number may be another process's by now.
  for pid in $(cat "$1"/pid/*.pid 2>/dev/null); do
    comm=$(cat "/proc/$pid/comm" 2>/dev/null) || continue
    case $comm in munged | slurmctld | slurmd) echo "$pid" ;; esac
  done
}

# ended waits until none of the processes is left.
ended() {
  local deadline=$((SECONDS + $1)) pid
  shift
  for pid in "$@"; do
    while kill -0 "$pid" 2>/dev/null; do
      ((SECONDS < deadline)) || return 1
      sleep 0.05
    done
  done
}

down() {
  local dir left
  dir=$(cd "$1" && pwd)
  [[ -d $dir/munge ]] || fail "$dir has no cluster"
  export PATH=$PATH:/usr/sbin:/sbin
  # A step outlives slurmctld and slurmd, so the jobs go first.
  if [[ -s $dir/pid/slurmctld.pid ]]; then
    SLURM_CONF=$dir/slurm.conf timeout 20 bash -c '
      squeue -h -o %A | sort -u | xargs -r -n 500 scancel -Q
      for _ in {1..100}; do [[ -n $(squeue -h -t R,CG -o %A) ]] || break; sleep 0.1; done' 2>/dev/null || true
  fi
  mapfile -t left < <(processes "$dir" | sort -u)
  ((${#left[@]} == 0)) || kill "${left[@]}" 2>/dev/null || true
  ended "$end_seconds" "${left[@]}" || { kill -KILL "${left[@]}" 2>/dev/null || true; }
  mapfile -t left < <(processes "$dir" | sort -u)
  ended 2 "${left[@]}" || fail "still running: ${left[*]}"
  rm -f "$dir"/pid/*.pid
}

case "${1:-} $#" in
  "up 3") up "$2" "$3" ;;
  "down 2") down "$2" ;;
  *) usage ;;
esac
