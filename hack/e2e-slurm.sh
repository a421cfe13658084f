#!/usr/bin/env bash
# Advice and submissions on a real Slurm cluster: see hack/slurm.sh.
#
#   hack/e2e-slurm.sh               the table of checks
#   hack/e2e-slurm.sh --benchmark   1,000 queued jobs on 100 nodes
#   hack/e2e-slurm.sh --pair A B    two sample applications (bandmate sample) as
#                                   jobs on the two CPUs of one node: predicted
#                                   beside measured. Wants the machine to itself.
#
# BANDMATE=PATH takes a program that is built already.
# Prints one line a check, and fails if any does. Needs what hack/slurm.sh needs;
# as root also jobs of another user are checked.
source "$(dirname "$0")/lib.sh"
root=$PWD
clusters=()

cleanup() {
  local cluster
  cd "$root"
  for cluster in "${clusters[@]}"; do hack/slurm.sh down "$cluster"; done
}

# exits CODE COMMAND... checks an exit code and keeps the output in out and err.
exits() {
  local want=$1 status=0
  shift
  "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
  [[ $status == "$want" ]] || { echo "exit code $status, want $want: $*"; cat "$scratch/out" "$scratch/err"; return 1; }
}

# says PATTERN looks for a line in the last output.
says() { grep -qE -- "$1" "$scratch/out" || { echo "no line like $1 in:"; cat "$scratch/out" "$scratch/err"; return 1; }; }
complains() { grep -qE -- "$1" "$scratch/err" || { echo "no line like $1 in:"; cat "$scratch/err"; return 1; }; }

bandmate() { "$scratch/bandmate" --quiet "$@"; }
advise() { bandmate slurm advise "$@"; }

# wait_for STATE JOB... waits until jobs are in a state.
wait_for() {
  local state=$1 job
  shift
  for job in "$@"; do
    wait_until 30 in_state "$job" "$state" || { echo "job $job is not $state: $(squeue -h -j "$job")"; return 1; }
  done
}
in_state() { [[ $(squeue -h -j "$1" -o %T 2>/dev/null | sort -u) == "$2" ]]; }
queue_empty() { [[ -z $(squeue -h -o %A) ]]; }
# Backfill marks nodes as planned until it has looked again.
nothing_planned() { ! scontrol -o show nodes | grep -qE 'State=[^ ]*(PLANNED|COMPLETING)'; }

# sleeper ARGS... submits a job that does nothing, and prints its id.
sleeper() { sbatch --parsable -o /dev/null "$@" --wrap 'sleep 600'; }
node_of() { squeue -h -j "$1" -o %N; }
clear_jobs() {
  squeue -h -o %A | sort -u | xargs -r scancel
  wait_until 30 queue_empty
  wait_until 30 nothing_planned
}

start_cluster() {
  local line
  clusters+=("$1")
  line=$(NODE_FEATURES=bandmate-machine=box hack/slurm.sh up "$1" "$2")
  eval "$line"
}

# two_residents: stream on n01, quiet on n02, nobody on n03.
two_residents() {
  clear_jobs
  stream=$(sleeper --comment bandmate=stream -w n01 -n 4)
  quiet=$(sleeper --comment bandmate=quiet -w n02 -n 4)
  wait_for RUNNING "$stream" "$quiet"
}

advice_is_prediction() {
  local predicted
  predicted=$(bandmate predict quiet stream | sed -n 's/^quiet beside stream: \([^ ]*\) .*/\1/p')
  [[ -n $predicted ]] || { echo "no prediction"; return 1; }
  exits 0 advise --application quiet -n 4 -h -o '%n %s'
  says "^n01 $predicted\$"
}

submit_lands_where_predicted() {
  local best job
  best=$(advise --application stream -n 4 -h -o '%n' | head -n 1)
  job=$(bandmate slurm submit -- --parsable -o /dev/null --comment bandmate=stream -n 4 --wrap 'sleep 600')
  wait_for RUNNING "$job" && [[ $(node_of "$job") == "$best" && $best == n03 ]] || { echo "on $(node_of "$job"), predicted $best"; return 1; }
  scontrol show job "$job" | grep -q 'ExcNodeList=n\[01-02\]' || { scontrol show job "$job"; return 1; }
  scancel "$job"
}

limit_keeps_off() {
  two_residents
  exits 0 advise --application stream -n 4 --limit 1.1 -h -o '%n %v %x' && says '^n01 2 yes$' && says '^n03 0 no$' || return 1
  local job
  job=$(bandmate slurm submit --limit 1.1 -- --parsable -o /dev/null -w n02 --comment bandmate=stream -n 4 --wrap 'sleep 600')
  wait_for RUNNING "$job" && [[ $(node_of "$job") == n02 ]] && scancel "$job"
}

never_everything() {
  exits 5 advise --application stream -n 4 -x n02,n03 --limit 1.1 --exclude-list && says '^n\[02-03\]$' || return 1
  exits 5 bandmate slurm submit --limit 1.1 -- -x n02,n03 -o /dev/null --comment bandmate=stream -n 4 --wrap 'sleep 1' || return 1
  complains 'not submitted'
}

arrays() {
  local job nodes
  clear_jobs
  job=$(bandmate slurm submit -- --parsable -o /dev/null --array 0-2 --comment bandmate=stream -n 1 --wrap 'sleep 600')
  wait_for RUNNING "${job}_0" "${job}_1" "${job}_2" || return 1
  exits 0 advise --job "${job}_1" -h -o '%n %N' && says '^n0[1-3] '
  job=$(sleeper --array 0-9%2 -H --comment bandmate=stream)
  exits 0 advise --job "$job" -h && says '^n0'
}

heterogeneous() {
  local job
  clear_jobs
  job=$(bandmate slurm submit -- --parsable -o /dev/null --comment bandmate=stream -n 4 : --comment bandmate=stream -n 4 --wrap 'sleep 600')
  wait_for RUNNING "$job+0" "$job+1" || return 1
  # The second stays off the node that the first was advised to take.
  [[ $(squeue -h -o '%i %N' | sort | cut -d ' ' -f 2 | uniq | wc -l) == 2 ]] || { squeue; return 1; }
  exits 0 advise --job "$job+1" -h && exits 0 advise --job "$job" -h && complains 'heterogeneous'
}

heterogeneous_script() {
  local job
  clear_jobs
  printf '%s\n' '#!/bin/sh' '#SBATCH --comment bandmate=stream -n 4' '#SBATCH hetjob' \
    '#SBATCH --comment bandmate=stream -n 3' 'sleep 600' >"$scratch/het.sh"
  job=$(bandmate slurm submit -- --parsable -o /dev/null "$scratch/het.sh")
  wait_for RUNNING "$job+0" "$job+1" || return 1
  [[ $(squeue -h -o '%N %C' | sort -k 2 | tr '\n' ' ') =~ ^(n0.)\ 3\ (n0.)\ 4\ $ && ${BASH_REMATCH[1]} != "${BASH_REMATCH[2]}" ]] || { squeue -o '%i %N %C'; return 1; }
}

several_nodes() {
  local job
  two_residents
  job=$(bandmate slurm submit -- --parsable -o /dev/null --comment bandmate=stream -N 2 -n 8 --wrap 'sleep 600')
  wait_for RUNNING "$job" && [[ $(node_of "$job") == 'n[02-03]' ]] || { squeue; return 1; }
  exits 0 advise --application quiet -h -o '%n %l' && says "^n03 $job:stream:"
}

node_ranges() {
  local job
  two_residents
  exits 0 advise --application stream -N 1-3 -n 3 -o json && says '"nodes": 3' || return 1
  exits 0 advise --application stream -N 1-3 -n 3 --limit 1.1 --exclude-list && says '^n01$' || return 1
  job=$(sleeper -H -N 1-3 -n 3 --comment bandmate=stream)
  exits 0 advise --job "$job" -o json && says '"nodes": 3' || return 1
  scancel "$job"
  job=$(bandmate slurm submit --limit 1.1 -- --parsable -o /dev/null -N 1-3 -n 3 --comment bandmate=stream --wrap 'sleep 600')
  wait_for RUNNING "$job" && [[ $(node_of "$job") == 'n[02-03]' ]] || { squeue; return 1; }
  scancel "$job"
  job=$(bandmate slurm submit -- --parsable -o /dev/null -N 1-3 -n 3 --comment bandmate=stream --wrap 'sleep 600')
  wait_for RUNNING "$job" && [[ $(node_of "$job") == 'n[01-03]' ]] || { squeue; return 1; }
}

partitions() {
  two_residents
  exits 0 advise --application stream -p odd -h -o %n && says '^n03$' && ! says '^n02$' >/dev/null || return 1
  exits 0 advise --application stream -p odd,pack -h -o %n && says '^n02$' || return 1
  exits 1 advise --application stream -p none && complains 'no node can run the job'
}

oversubscription() {
  local first second
  clear_jobs
  first=$(sleeper -p share --comment bandmate=stream -n 8 -w n01)
  second=$(sleeper -p share --comment bandmate=quiet -n 8 -w n01)
  wait_for RUNNING "$first" "$second" || return 1
  # Both have all CPUs of n01: Slurm counts 8, there are two residents of 8.
  exits 0 advise --application quiet -p share -n 8 -h -o '%n %N %t' && says '^n01 2 no$' && says '^n02 0 yes$' || return 1
  exits 0 advise --application quiet -n 8 -h -o '%n %t' && says '^n01 no$'
}

held_and_dependent() {
  local held dependent
  two_residents
  held=$(sleeper -H --comment bandmate=stream -n 4)
  dependent=$(sleeper -d "afterok:$stream" --comment bandmate=stream -n 4)
  exits 0 advise --job "$held" -h -o %n && [[ $(head -n 1 "$scratch/out") == n03 ]] || return 1
  exits 0 advise --job "$dependent" -h -o %n && [[ $(head -n 1 "$scratch/out") == n03 ]] || return 1
  # Neither is a resident of anything.
  exits 0 advise --application quiet -h -o '%n %N' && says '^n03 0$'
}

running_job_is_no_neighbor_of_its_own() {
  two_residents
  exits 0 advise --job "$stream" -h -o '%n %N %t' && says '^n01 0 yes$'
}

another_user() {
  local job
  two_residents
  job=$(cd /tmp && setpriv --reuid=65534 --regid=65534 --clear-groups env USER=nobody HOME=/tmp sbatch --parsable -o /dev/null --comment bandmate=stream -w n03 -n 4 --wrap 'sleep 600')
  wait_for RUNNING "$job" || return 1
  exits 0 advise --application stream -h -o '%n %l' && says "^n03 $job:stream:" || return 1
  # And that user, who has no rights, gets the same advice.
  chmod -R a+rX "$scratch/store"
  setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/tmp "$scratch/bandmate" slurm advise --application stream -h -o '%n %l' >"$scratch/theirs"
  diff "$scratch/out" "$scratch/theirs"
}

hostile() {
  local job
  clear_jobs
  job=$(sbatch --parsable -o /dev/null -J $'$(touch pwned)|;\e[2J' --comment $'bandmate=$(touch pwned) `touch pwned`\n1|666|x' -w n01 -n 4 --wrap 'sleep 600')
  wait_for RUNNING "$job" || return 1
  exits 0 advise --application stream -n 4 -o '%n|%d|%s|%w|%c|%v|%f|%t|%x|%l|%R' || return 1
  [[ $(wc -l <"$scratch/out") == 4 ]] && ! grep -q $'\e' "$scratch/out" "$scratch/err" || { cat -v "$scratch/out"; return 1; }
  awk -F'|' 'NF != 11 { print; bad = 1 } END { exit bad }' "$scratch/out" || return 1
  [[ ! -e pwned ]]
}

passes_through() {
  local ours=0 theirs=0
  clear_jobs
  bandmate slurm submit -- -p nonsense --comment bandmate=stream --wrap true >"$scratch/ours" 2>/dev/null || ours=$?
  sbatch -p nonsense --comment bandmate=stream --wrap true >"$scratch/theirs" 2>/dev/null || theirs=$?
  [[ $ours == "$theirs" && $ours != 0 ]] && diff "$scratch/ours" "$scratch/theirs" || { echo "$ours, $theirs"; return 1; }
  exits 7 bandmate slurm submit -- srun --comment bandmate=stream sh -c 'echo out; echo err >&2; exit 7' && says '^out$' && complains '^err$' || return 1
  exits 0 bandmate slurm submit -- salloc --comment bandmate=stream sh -c 'echo $SLURM_JOB_NODELIST' && says '^n0'
}

memory_pool() {
  two_residents
  scontrol update NodeName=n01,n03 AvailableFeatures=bandmate-machine=box,bandmate-domain=pool
  local status=0
  { exits 0 advise --application stream -n 4 -h -o '%n %d %N' && says '^n03 pool 1$' && [[ $(head -n 1 "$scratch/out") == 'n02 n02 1' ]]; } || status=1
  scontrol update NodeName=n01,n03 AvailableFeatures=bandmate-machine=box
  return $status
}

drained() {
  clear_jobs
  scontrol update NodeName=n02 State=DRAIN Reason=test
  local status=0
  { exits 0 advise --application stream -h -o %n && ! says '^n02$' >/dev/null; } || status=1
  scontrol update NodeName=n02 State=RESUME
  return $status
}

slurmctld_down() {
  local pid port started=$SECONDS status=0
  clear_jobs
  pid=$(cat "$cluster/pid/slurmctld.pid")
  # Slow: it answers nothing while it is stopped.
  kill -STOP "$pid"
  { exits 1 advise --application stream --timeout 1s && complains 'no answer in time'; } || status=1
  kill -CONT "$pid"
  kill "$pid"
  while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
  { exits 1 advise --application stream --timeout 5s && complains 'slurmctld cannot be reached|no answer in time'; } || status=1
  ((SECONDS - started < 60)) || { echo "took $((SECONDS - started)) s"; status=1; }
  slurmctld >/dev/null
  for _ in {1..100}; do exits 0 advise --application stream >/dev/null && return "$status"; sleep 0.2; done
  echo "no advice after slurmctld is back"
  return 1
}

text_instead_of_json() {
  two_residents
  mkdir -p "$scratch/old"
  cat >"$scratch/old/squeue" <<SH
#!/bin/sh
for word; do case \$word in --json) echo "squeue: unrecognized option '--json'" >&2; exit 1 ;; esac; done
exec $(command -v squeue) "\$@"
SH
  chmod +x "$scratch/old/squeue"
  exits 0 advise --application stream -n 4 -o csv && cp "$scratch/out" "$scratch/json"
  PATH=$scratch/old:$PATH exits 0 "$scratch/bandmate" slurm advise --application stream -n 4 -o csv
  diff "$scratch/json" "$scratch/out"
}

# submitted ARGS... submits a job with advice, and prints its id.
submitted() { "$scratch/bandmate" slurm submit "${flags[@]}" -- --parsable -o /dev/null --comment bandmate=stream "$@" --wrap 'sleep 600' 2>"$scratch/err"; }

# starts_on NODES JOB checks that a job starts there at once.
starts_on() {
  wait_for RUNNING "$2" || { cat "$scratch/err"; return 1; }
  [[ $(node_of "$2") == "$1" ]] || { echo "job $2 on $(node_of "$2"), want $1"; cat "$scratch/err"; squeue; return 1; }
}

# disturbed: stream on n01, which has the GPUs; nobody elsewhere.
disturbed() {
  clear_jobs
  flags=()
  stream=$(sleeper --comment bandmate=stream -w n01 -n 2)
  wait_for RUNNING "$stream"
}

reservation_does_not_delay() {
  local status=0
  disturbed
  scontrol create reservation ReservationName=kept StartTime=now Duration=60 Nodes=n02,n03 Users=root >/dev/null
  wait_until 10 eval '[[ $(scontrol -o show nodes | grep -c RESERVED) == 2 ]]'
  {
    starts_on n01 "$(submitted -n 2)" &&
      exits 5 bandmate slurm submit --limit 1.1 -- -o /dev/null --comment bandmate=stream -n 2 --wrap 'sleep 1' &&
      complains 'no node keeps to it: n01: the job itself would be slowed down [0-9.]+× by [0-9]+ \(stream\).*above its limit of 1\.10×' &&
      starts_on n02 "$(submitted -n 2 --reservation=kept -x n03)"
  } || status=1
  clear_jobs
  scontrol delete ReservationName=kept
  wait_until 10 eval '! scontrol -o show nodes | grep -q RESERVED'
  return $status
}

# advised ROW [ARGS...] looks for "NODE, free CPUs, whether the job can start there".
advised() { local row=$1; shift; exits 0 advise --application stream -n 4 "$@" -h -o '%n %f %t' && says "^$row\$"; }

reserved_cores_held_before() {
  local before status=0
  clear_jobs
  before=$(sleeper --comment bandmate=quiet -w n01 -n 4 -t 10)
  wait_for RUNNING "$before"
  scontrol create reservation ReservationName=half StartTime=now Duration=60 Nodes=n01 CoreCnt=4 Users=root Flags=IGNORE_JOBS >/dev/null
  {
    wait_until 30 eval 'scontrol show reservations | grep -q CoreIDs=0-3' &&
      advised 'n01 4 yes' && advised 'n01 0 no' --reservation=half &&
      starts_on n01 "$(sleeper -t 5 -w n01 -n 4)"
  } || { scontrol show reservations; status=1; }
  clear_jobs
  scontrol delete ReservationName=half
  return $status
}

gpu_does_not_delay() {
  disturbed
  starts_on n01 "$(submitted -n 2 --gres=gpu:1)" && starts_on n01 "$(submitted -n 2 --gpus=1)"
}

memory_does_not_delay() {
  disturbed
  local n
  for n in n02 n03; do wait_for RUNNING "$(sleeper --comment bandmate=quiet -w $n -n 1 --mem=900)" || return 1; done
  starts_on n01 "$(submitted -n 2 --mem=300)"
}

unknown_to_bandmate_does_not_delay() {
  disturbed
  # Cores of sockets are nothing that Bandmate reads, memory for each GPU neither.
  starts_on n01 "$(submitted -n 2 --gpus-per-task=1 --mem-per-gpu=10)"
}

one_node_each() {
  local job jobs=() n
  for flags in '' '--limit 1.1'; do
    clear_jobs
    read -ra flags <<<"$flags"
    jobs=()
    for n in 1 2 3; do
      job=$(submitted -n 1) || { cat "$scratch/err"; return 1; }
      jobs+=("$job")
    done
    wait_for RUNNING "${jobs[@]}" || return 1
    [[ $(squeue -h -o %N | sort -u | wc -l) == 3 ]] || { echo "with flags '${flags[*]}'"; squeue; return 1; }
  done
  exits 5 bandmate slurm submit --limit 1.1 -- -o /dev/null --comment bandmate=stream -n 1 --wrap 'sleep 1' && complains 'n02: .*above its limit'
}

array_keeps_its_limit() {
  clear_jobs
  exits 5 bandmate slurm submit --limit 1.15 -- -o /dev/null --array=0-7 --comment bandmate=stream -n 1 --wrap 'sleep 1' || return 1
  complains '8 of its tasks at once would be slowed down [0-9.]+× each, above their limit of 1\.15×' && queue_empty || return 1
  exits 0 bandmate slurm submit --limit 1.15 -- --parsable -o /dev/null --array=0-7%1 --comment bandmate=stream -n 1 --wrap 'sleep 600'
}

# unreachable: munge and the jobs of others could not enter the folder.
unreachable() {
  mkdir -m 700 "$scratch/closed"
  exits 1 "$root/hack/slurm.sh" up "$scratch/closed/c" 1 && complains "chmod o\\+x $scratch/closed, or take another folder"
}

# benchmark prints the median of 21 advices, and what Slurm's own two commands take.
benchmark() {
  local cluster=$scratch/c i job
  NODE_CPUS=16 start_cluster "$cluster" 100
  for ((i = 0; i < 200; i++)); do
    sleeper -Q --comment "bandmate=$( ((i % 2)) && echo stream || echo quiet)" -w "$(printf 'n%02d' $((i % 100 + 1)))" -n 4 >/dev/null
  done
  echo "waiting for 200 jobs to run"
  for ((i = 0; i < 600; i++)); do [[ $(squeue -h -t R | wc -l) == 200 ]] && break; sleep 0.5; done
  for ((i = 0; i < 1000; i++)); do
    job=$(sleeper -H -J "job-$i" --comment "bandmate=$( ((i % 2)) && echo stream || echo quiet)" -n 4)
  done
  echo "$(squeue -h -t R | wc -l) jobs run, $(squeue -h -t PD | wc -l) wait, $(sinfo -h -p pack -N -o %N | wc -l) nodes; squeue --json writes $(squeue -a --json | wc -c) bytes"
  cat >"$scratch/measure" <<'SH'
median() {
  for _ in {1..21}; do
    local start=${EPOCHREALTIME/./}
    "$@" >/dev/null 2>&1 || exit 1
    echo $((${EPOCHREALTIME/./} - start))
  done | sort -n | awk '{ t[NR] = $1 } END { printf "%.0f ms (%.0f to %.0f)", t[int((NR + 1) / 2)] / 1000, t[1] / 1000, t[NR] / 1000 }'
}
echo "squeue --all --json            $(median squeue --all --json)"
echo "sinfo --all --Node             $(median sinfo --all --Node -o %N)"
echo "bandmate slurm advise --job    $(median "$1" slurm advise --job "$2")"
SH
  ${QUIET:-} bash "$scratch/measure" "$scratch/bandmate" "$job"
}

# timed_job NAME CPU RUNS submits a job that runs a sample time and again, and
# writes the seconds of each run.
timed_job() {
  sbatch --parsable -o "$scratch/$1.$2.times" --comment "bandmate=$1" -n 1 -w n01 --wrap \
    "for i in \$(seq $3); do s=\$(date +%s%N); $scratch/bandmate sample $1 >/dev/null; echo \$(((\$(date +%s%N) - s) / 1000)); done"
}

# middle prints the median of the lines of a file but for the first, which warms up.
middle() { tail -n +2 "$1" | sort -n | awk '{ t[NR] = $1 } END { if (NR) print t[int((NR + 1) / 2)] }'; }

# pair prints the slowdown of each of two applications beside the other.
pair() {
  local name solo together job neighbor
  local -A alone
  unset BANDMATE_STORE
  export BANDMATE_STORE=$scratch/pairs
  for name in "$@"; do bandmate onboard "$name" -- "$scratch/bandmate" sample "$name" >/dev/null; done
  clusters+=("$scratch/p")
  solo=$(NODE_CPUS=2 TASK_PLUGIN=task/affinity hack/slurm.sh up "$scratch/p" 1)
  eval "$solo"
  ended() { until [[ -z $(squeue -h -j "$1" 2>/dev/null) || $(squeue -h -j "$1" -o %T) == COMPLETED ]]; do sleep 0.2; done; }
  for name in "$@"; do
    job=$(timed_job "$name" solo 15)
    ended "$job"
    alone[$name]=$(middle "$scratch/$name.solo.times")
  done
  for name in "$1 $2" "$2 $1"; do
    neighbor=${name#* } name=${name% *}
    job=$(timed_job "$neighbor" neighbor 100000)
    wait_for RUNNING "$job"
    solo=$(advise --application "$name" -h -o %s)
    together=$(timed_job "$name" "beside-$neighbor" 15)
    ended "$together"
    scancel "$job"
    ended "$job"
    together=$(middle "$scratch/$name.beside-$neighbor.times")
    awk -v name="$name" -v neighbor="$neighbor" -v predicted="$solo" -v together="$together" -v alone="${alone[$name]}" \
      'BEGIN { printf "%s beside %s: predicted %s, measured %.2f× (%.0f ms alone, %.0f ms together)\n", name, neighbor, predicted, together / alone, alone / 1000, together / 1000 }'
  done
}

if [[ -n ${BANDMATE:-} ]]; then cp "$BANDMATE" "$scratch/bandmate"; else go build -o "$scratch/bandmate" ./cmd/bandmate; fi
export BANDMATE_STORE=$scratch/store
bandmate profiles import hack/e2e-slurm/profiles.yaml >/dev/null
if [[ ${1:-} == --benchmark ]]; then
  benchmark
  exit
elif [[ ${1:-} == --pair ]]; then
  (($# == 3)) || { echo "want --pair A B, two sample applications" >&2; exit 2; }
  pair "$2" "$3"
  exit
fi

cluster=$scratch/c
start_cluster "$cluster" 3
cd "$scratch"
check "hack/slurm.sh names the remedy for an unreachable folder" unreachable
two_residents
check "advice equals what predict says" advice_is_prediction
check "submit lands on the predicted node" submit_lands_where_predicted
check "a limit keeps a job off a node" limit_keeps_off
check "all nodes are never excluded" never_everything
check "a running job is no neighbor of its own" running_job_is_no_neighbor_of_its_own
check "arrays" arrays
check "heterogeneous jobs" heterogeneous
check "heterogeneous jobs that a script describes" heterogeneous_script
check "jobs of several nodes" several_nodes
check "a range of nodes: all that have room, fewer for a limit" node_ranges
check "several partitions" partitions
check "oversubscription: residents are counted by jobs" oversubscription
check "held and dependent jobs" held_and_dependent
if [[ $(id -u) == 0 ]]; then
  check "jobs of another user; advice without rights" another_user
else
  skip "jobs of another user; advice without rights" "needs root"
fi
check "hostile names and comments" hostile
check "output and exit code pass through; srun, salloc" passes_through
check "a memory pool of several nodes, by node features" memory_pool
check "drained nodes" drained
check "squeue without JSON: the same advice" text_instead_of_json
check "host lists as scontrol reads them" bash -c "cd '$root' && go test -count=1 -run TestExpandAsScontrol -v ./slurm/hostlist | tee /dev/stderr | grep -q '^--- PASS'"
check "slurmctld slow, down, back" slurmctld_down
cd "$root"

# Jobs consume memory here, and n01 has GPUs.
export SELECT=CR_Core_Memory FIRST_GRES=gpu:2 EXTRA_CONF=DefMemPerCPU=10
cluster=$scratch/m
start_cluster "$cluster" 3
cd "$scratch"
check "a reservation of the better nodes delays no job" reservation_does_not_delay
check "nor does the only node with GPUs" gpu_does_not_delay
check "nor memory that is full" memory_does_not_delay
check "nor what only Slurm knows" unknown_to_bandmate_does_not_delay
check "reserved cores that others held before" reserved_cores_held_before
check "three submissions in a row go to three nodes" one_node_each
check "an array keeps its limit, or is refused" array_keeps_its_limit
cd "$root"

summary
