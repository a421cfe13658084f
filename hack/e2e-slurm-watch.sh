#!/usr/bin/env bash
# slurm watch, slurm pair, slurm onboard, job_submit.lua and cli_filter.lua on a
# real Slurm: see hack/slurm.sh. Prints a table of checks; fails if one fails.
#
#   hack/e2e-slurm-watch.sh [PART...]     parts: lua, watch, faults, pair, delay, queues, scale
#
# QUEUES=300 plays so many random queues (default 4), with the watch and without, on
# PAIRS=2 pairs of partitions at once; see hack/e2e-slurm. BANDMATE=PATH takes a program
# that is built already.
# Needs root (it submits jobs as another user), or skips those checks.
source "$(dirname "$0")/lib.sh"
need jq jq
parts=" ${*:-lua watch faults pair delay queues scale} "
background=

cleanup() {
  local cluster status=0
  [[ -z $background ]] || kill "$background" 2>/dev/null || true
  for cluster in "$scratch"/*/munge; do
    [[ ! -d $cluster ]] || hack/slurm.sh down "${cluster%/munge}" || status=1
  done
  return "$status"
}

# details says what the queue and the nodes hold when a check fails, and what slurmctld
# complained of.
details() {
  squeue -h -t all -o '%T %r' | sort | uniq -c
  sinfo -h -p pack -o '%D nodes %T %E'
  grep -hE 'error|requeu|missing|not responding|WEXITSTATUS [^0]|WTERMSIG' "${SLURM_CONF%/*}/log/slurmctld.log" | tail -n 20
  squeue -t all -S t,i -o '%.8i %.9P %.10T %.20R %.12x %k' | grep -v ' RUNNING ' | head -n 50
  squeue -t R -o '%.8i %.9P %.10T %.20R %.12x %k' | head -n 50
}

# objects FILE holds where every line is a flat JSON object.
objects() {
  local text='"([^"\\]|\\.)*"' number='-?[0-9][0-9.eE+-]*'
  [[ -s $1 ]] && ! grep -vE "^\{($text:($text|$number|true|false|null)(,|\}$))+$" "$1"
}

# profile NAME GB/s LOSS makes an application that reads so much and loses this
# share of its speed beside 40 GB/s.
profile() {
  local share
  cat <<YAML
---
apiVersion: bandmate.dev/v1alpha1
kind: ApplicationProfile
metadata: {name: $1}
spec:
  command: [$1]
  machine: {name: blade, cpuModel: Test CPU}
  measurement:
    targetCPUs: "0"
    interfererCPUs: "1"
    sharedLastLevelCache: false
    regime: {name: same-complex, roundTripNanoseconds: 80}
  solo: {seconds: 1, repeats: 3, relativeSpread: 0.01}
  contentiousness: {readBytesPerSecond: ${2}e9, writeBytesPerSecond: 0, source: imported, relativeUncertainty: 0.02}
  curves:
YAML
  for share in 0.5 1; do
    printf '  - readShare: %s\n    pattern: sequential\n    points:\n' "$share"
    awk -v loss="$3" 'BEGIN { for (l = 0.25; l <= 1; l += 0.25) printf "    - {level: %s, interfererBytesPerSecond: %.0f, achievedBytesPerSecond: %.0f, normalizedPerformance: %.4f, repeats: 3, spread: 0.005}\n", l, 40e9*l, 40e9*l, 1-loss*l }'
  done
}

# submit ARGS... submits a job that sleeps, and prints its id. sbatch's own
# options come first; cli_filter.lua is asked only where that is the subject.
submit() { BANDMATE_SLURM=off sbatch --parsable -o /dev/null "$@" "$scratch/sleep"; }
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups env BANDMATE_SLURM=off "$@"; }
labeled() { local name=$1; shift; submit --comment "bandmate=$name" "$@"; }
excluded() { squeue -h -j "$1" -o %x | sort -u | paste -sd ' '; }
excludes() { local got; got=$(excluded "$1"); echo "job $1 excludes '$got', want '$2'"; [[ $got == "$2" ]]; }
# first_excludes JOB NODES: of its two components, only the first excludes nodes.
first_excludes() { diff <(printf '%s\n' "$1+0 $2" "$1+1 ") <(squeue -h -j "$1" -o '%i %x' | sort); }
state() { squeue -h -t all -j "$1" -o %T | sort -u | paste -sd ' '; }
is() { local got; got=$(state "$1"); echo "job $1 is $got, want $2"; [[ $got == "$2" ]]; }
node_of() { squeue -h -j "$1" -o %N; }
runs_on() { echo "job $1 runs on '$(node_of "$1")', want $2"; [[ $(node_of "$1") == "$2" ]]; }
watching() { bandmate slurm watch --mode enforce --limit 1.15 --state "$scratch/state" --log "$scratch/log" -q "$@"; }
# watch_on starts a watch as the process $background.
watch_on() {
  (exec bandmate slurm watch --mode enforce --limit 1.15 --state "$scratch/state" --log "$scratch/log" --interval 1s --timeout 3s -q "$@" >/dev/null 2>&1) &
  background=$!
}
end_watch() { # SIGNAL
  kill "-$1" "$background" || true
  wait "$background" 2>/dev/null || true
  background=
}
round() { watching --once --table "$table" "$@"; }
# status prints what the watch says of itself, whatever its exit code.
status() { bandmate slurm watch status --state "$scratch/state" || true; }
logged() { grep -q "$1" "$scratch/log"; }
queue_empty() { [[ -z $(squeue -h) ]]; }
clean() {
  squeue -h -o %A | sort -u | xargs -r scancel -Q 2>/dev/null || true # parts of a job end with their leader
  eventually "  (the queue is empty again)" queue_empty
  rm -rf "$scratch/state" "$scratch/log" "$table"
}

cluster() {
  local name=$1 nodes=$2
  eval "$(hack/slurm.sh up "$scratch/$name" "$nodes")"
}

part() { [[ $parts == *" $1 "* ]] && echo "--- $1"; }

echo '--- build'
mkdir -p "$scratch/bin" "$scratch/scripts" "$scratch/advice"
if [[ -n ${BANDMATE:-} ]]; then cp "$BANDMATE" "$scratch/bin/bandmate"; else go build -o "$scratch/bin/bandmate" ./cmd/bandmate; fi
export PATH=$scratch/bin:$PATH BANDMATE_STORE=$scratch/store
table=$scratch/advice/table
sed "s#^local TABLE = .*#local TABLE = \"$table\"#" manifests/slurm/job_submit.lua >"$scratch/scripts/job_submit.lua"
cp manifests/slurm/cli_filter.lua "$scratch/scripts/"
printf '#!/bin/sh\nexec sleep "${1:-900}"\n' >"$scratch/sleep"
chmod +x "$scratch/sleep"
{ profile heavy 30 0.5; profile tender 1 0.5; profile light 0.1 0.001; } >"$scratch/profiles.yaml"
bandmate profiles import "$scratch/profiles.yaml" >/dev/null
root=; [[ $(id -u) != 0 ]] || root=1

# fill occupies the named nodes with whole-node jobs that disturb nobody.
fill() { local n; for n in "$@"; do labeled light -w "$n" -n 8 >/dev/null; done; }

if part lua; then
  export NODE_FEATURES=bandmate-machine=blade LUA_DIR=$scratch/scripts
  cluster lua 4
  resident=$(labeled tender -w n01)
  fill n02 n03 n04
  eventually 'lua: residents run' eval '[[ $(squeue -h -t R | wc -l) == 4 ]]'
  round
  heavy=$(labeled heavy -n 2)
  check 'lua: job_submit.lua keeps the job off the node at submission' excludes "$heavy" n01
  sleep 2
  check 'lua: the job waits, although there is room' is "$heavy" PENDING
  round
  check 'lua: the watch takes the exclusion over' logged '"action":"adopted"'
  scancel "$resident"
  eventually 'lua: the resident ends' eval '[[ -z $(squeue -h -j '"$resident"' 2>/dev/null) || $(state '"$resident"') == CANCEL* ]]'
  round
  eventually 'lua: the watch lets the job in when the resident ends' runs_on "$heavy" n01
  second=$(labeled tender -n 1)
  sed -i 's/^written .*/written 1/' "$table"
  third=$(labeled heavy -n 1)
  check 'lua: a stale table excludes nothing' excludes "$third" ''
  echo 'return os.execute("false")' >"$table"
  fourth=$(labeled heavy -n 1)
  check 'lua: a table that is a program excludes nothing' excludes "$fourth" ''
  rm -f "$table"
  fifth=$(labeled heavy -n 1)
  check 'lua: no table, no exclusion' excludes "$fifth" ''
  scancel "$second" "$third" "$fourth" "$fifth" || true
  scancel $(squeue -h -w n02 -o %A)
  eventually 'lua: a node is free' eval '[[ -z $(squeue -h -w n02) ]]'
  unset BANDMATE_SLURM
  # What sbatch says of it, should it fail.
  bandmate slurm advise --application tender -n 1 >"$scratch/asked" 2>&1 || true
  asked=$(sbatch -v --parsable -o /dev/null --comment bandmate=tender -n 1 "$scratch/sleep" 2>>"$scratch/asked")
  check 'lua: cli_filter.lua asks and excludes' eval 'cat "'"$scratch/asked"'"; excludes '"$asked"' n01'
  asked=$(sbatch --parsable -o /dev/null --comment bandmate=tender -N 1-2 "$scratch/sleep")
  check 'lua: cli_filter.lua leaves a range of nodes all that have room' excludes "$asked" ''
  asked=$(sbatch --parsable -o /dev/null --comment 'bandmate=$(touch /tmp/x)' -n 1 "$scratch/sleep")
  check 'lua: a hostile comment means nothing to cli_filter.lua' excludes "$asked" ''
  asked=$(sbatch --parsable -o /dev/null --comment bandmate=tender -x n02 -n 1 "$scratch/sleep")
  check 'lua: cli_filter.lua leaves the choice of the user' excludes "$asked" n02
  asked=$(sbatch --parsable -o /dev/null --comment bandmate=tender -n 1 : --comment none -n 1 "$scratch/sleep")
  check 'lua: cli_filter.lua excludes for one component alone' first_excludes "$asked" n01
  clean
  hack/slurm.sh down "$scratch/lua"
fi

unset LUA_DIR
export NODE_FEATURES=bandmate-machine=blade

if part watch; then
  cluster watch 4
  # Held jobs are kept up to date, and let us look at them at leisure.
  resident=$(labeled tender -w n01)
  eventually 'watch: a resident runs' is "$resident" RUNNING
  own=$(labeled heavy -H -x n04)
  array=$(labeled heavy -H --array=1-3)
  multi=$(labeled heavy -H -N 3)
  two=$(labeled heavy -H -p odd,pack)
  shared=$(labeled heavy -H -p share -n 8)
  depends=$(labeled heavy --dependency="afterok:$resident")
  chosen=$(labeled heavy -H -w n01)
  plain=$(submit -H)
  het=$(BANDMATE_SLURM=off sbatch --parsable -o /dev/null -H --comment bandmate=heavy -n 1 : --comment bandmate=light -n 1 "$scratch/sleep")
  watching --once --mode observe
  check 'watch: observe decides and changes nothing' eval 'logged "\"action\":\"exclude\"" && excludes '"$own"' n04'
  rm -rf "$scratch/state" "$scratch/log"
  round
  check 'watch: excludes beside what the user excludes' excludes "$own" 'n[01,04]'
  check 'watch: the tasks of an array' excludes "$array" n01
  check 'watch: an array stays one record' eval '[[ $(squeue -h -j '"$array"' -o %i | wc -l) == 1 ]]'
  check 'watch: a job on several nodes' excludes "$multi" n01
  check 'watch: a job of two partitions' excludes "$two" n01
  check 'watch: a job that shares CPUs' excludes "$shared" n01
  check 'watch: a job that waits for another' excludes "$depends" n01
  check 'watch: a job whose user chose the node is not touched' excludes "$chosen" ''
  check 'watch: a job without a label is not touched' excludes "$plain" ''
  check 'watch: of a heterogeneous job only the part that suffers' eval '[[ $(squeue -h -j '"$het"' -o "%i=%x" | sort | paste -sd " ") == "'"$het+0=n01 $het+1="'" ]]'
  decided=$(grep -cv '"action":"skip"' "$scratch/log")
  round
  check 'watch: a round without news changes nothing' eval '[[ $(grep -cv "\"action\":\"skip\"" "'"$scratch/log"'") == '"$decided"' ]]'
  scontrol update JobId="$two" ExcNodeList=n02
  round
  check 'watch: a list that the user changed is left alone' eval 'excludes '"$two"' n02 && logged left-alone'
  scancel "$resident"
  eventually 'watch: the resident ends' eval '! squeue -h -t R,CG | grep -q .'
  round
  check 'watch: the user'"'"'s list is as it was' excludes "$own" n04
  check 'watch: everything else is open again' eval 'excludes '"$array"' "" && excludes '"$multi"' "" && excludes '"$shared"' ""'
  check 'watch: what the user changed stays' excludes "$two" n02
  clean

  for n in 1 2 3 4; do labeled tender -w "n0$n" >/dev/null; done
  eventually 'watch: a resident on every node' eval '[[ $(squeue -h -t R | wc -l) == 4 ]]'
  all=$(labeled heavy -H)
  wide=$(labeled heavy -H -N 3)
  round
  check 'watch: never every node: three of four' eval '[[ $(scontrol show hostnames "$(excluded '"$all"')" | wc -l) == 3 ]]'
  check 'watch: never more than a job on three nodes can spare' eval '[[ $(scontrol show hostnames "$(excluded '"$wide"')" | wc -l) == 1 ]]'
  scontrol release "$all"
  eventually 'watch: such a job starts' is "$all" RUNNING
  clean

  fill n01 n02 n03 n04
  eventually 'watch: the cluster is full' eval '[[ $(squeue -h -t R | wc -l) == 4 ]]'
  burst=()
  for _ in 1 2 3 4; do burst+=("$(labeled heavy -n 2)"); done
  watch_on
  eventually 'watch: runs' eval 'bandmate slurm watch status --state "'"$scratch/state"'"'
  squeue -h -t R -o %A | xargs scancel
  eventually 'watch: a burst starts' eval '[[ $(squeue -h -t R -j '"$(IFS=,; echo "${burst[*]}")"' | wc -l) == 4 ]]'
  check 'watch: no two of the burst are on one node' eval '[[ $(squeue -h -t R -o %N | sort -u | wc -l) == 4 ]]'
  end_watch TERM
  clean

  if [[ -n $root ]]; then
    resident=$(labeled tender -w n01)
    eventually 'users: a resident of root runs' is "$resident" RUNNING
    theirs=$(as_nobody sbatch --parsable -o /dev/null -H --comment bandmate=heavy "$scratch/sleep")
    mine=$(labeled heavy -H)
    round
    check 'users: jobs of others are kept off, too' excludes "$theirs" n01
    install -d -o 65534 -m 755 "$scratch/theirs"
    watching --undo
    as_nobody bandmate slurm watch --once --mode enforce --limit 1.15 --state "$scratch/theirs" --log "$scratch/theirs/log"
    check 'users: without rights one watches one'"'"'s own' excludes "$theirs" n01
    check 'users: and nobody else'"'"'s' excludes "$mine" ''
    check 'users: the log says why' grep -q '"job":"'"$mine"'".*"done":false.*"error":"' "$scratch/theirs/log"
    clean
  fi
  hack/slurm.sh down "$scratch/watch"
fi

if part faults; then
  cluster faults 3
  resident=$(labeled tender -w n01)
  eventually 'faults: a resident runs' is "$resident" RUNNING
  heavy=$(labeled heavy -H -x n03)
  watch_on
  eventually 'faults: the watch excludes' excludes "$heavy" 'n[01,03]'
  check 'faults: a second watch is refused' eval '! watching 2>"'"$scratch/second"'" && grep -q "another watch is running: process '"$background"'" "'"$scratch/second"'"'
  end_watch KILL
  check 'faults: after kill -9 the exclusion stands' excludes "$heavy" 'n[01,03]'
  check 'faults: and status says that no watch runs' eval '! bandmate slurm watch status --state "'"$scratch/state"'" >"'"$scratch/status"'" && grep -q "no watch is running" "'"$scratch/status"'"'
  watching --undo
  check 'faults: undo takes it back' excludes "$heavy" n03

  # scontrol that never comes back from the middle of a change.
  mkdir "$scratch/slow"
  printf '#!/bin/sh\n%s "$@"\nexec sleep 5\n' "$(command -v scontrol)" >"$scratch/slow/scontrol"
  chmod +x "$scratch/slow/scontrol"
  PATH=$scratch/slow:$PATH watch_on --timeout 30s
  eventually 'faults: a change is made, its answer does not come' excludes "$heavy" 'n[01,03]'
  end_watch KILL
  check 'faults: killed in the middle, the state file says what was intended' grep -q '"intended": "n\[01,03\]"' "$scratch/state/state.json"
  watch_on
  # The status of the watch that was killed is still there until the next one runs.
  eventually 'faults: the next watch knows its own' eval 'bandmate slurm watch status --state "$scratch/state" >"$scratch/status" && grep -q "1 kept off" "$scratch/status"'
  bandmate slurm watch --off --state "$scratch/state" -q
  eventually 'faults: the off switch takes it back' excludes "$heavy" n03
  bandmate slurm watch --on --state "$scratch/state" -q
  eventually 'faults: switched on again it excludes again' excludes "$heavy" 'n[01,03]'

  kill "$(cat "$scratch/faults/pid/slurmctld.pid")"
  eventually 'faults: slurmctld is away, the watch says so and goes on' eval 'status | grep -q "in a row"'
  export SLURM_CONF=$scratch/faults/slurm.conf
  slurmctld
  scancel "$resident"
  eventually 'faults: slurmctld is back, and so is the watch' excludes "$heavy" n03
  check 'faults: the log tells of both' eval 'logged "\"action\":\"failed\"" && logged "\"action\":\"recovered\""'
  resident=$(labeled tender -w n01)
  eventually 'faults: and it excludes again' excludes "$heavy" 'n[01,03]'
  end_watch TERM
  check 'faults: a watch that ends takes back what it set' excludes "$heavy" n03
  check 'faults: the log is JSON, line by line' objects "$scratch/log"
  clean
  hack/slurm.sh down "$scratch/faults"
fi

if part pair; then
  cluster pair 2
  soon=(-p share -n 8 --begin=now+3600)
  a=$(labeled heavy "${soon[@]}")
  b=$(labeled heavy "${soon[@]}")
  c=$(labeled light "${soon[@]}")
  d=$(labeled light "${soon[@]}")
  held=$(labeled light -H "${soon[@]}")
  bandmate slurm pair --partition share >"$scratch/pairs"
  check 'pair: heavy goes with light' eval '[[ $(grep -c "heavy .* with .* light" "'"$scratch/pairs"'") == 2 ]]'
  check 'pair: the held job is left out' grep -q "# $held is left out: held" "$scratch/pairs"
  check 'pair: printing changes nothing' eval '[[ -z $(squeue -h -o "%n" | tr -d "\n") ]]'
  check 'pair: the lines are for a shell' bash -e "$scratch/pairs"
  check 'pair: every pair has a node' eval '[[ $(squeue -h -o "%n" | sort | uniq -c | grep -c " 2 n") == 2 ]]'
  for job in "$a" "$b" "$c" "$d"; do scontrol update JobId="$job" ReqNodeList=; done
  bandmate slurm pair --partition share --apply >"$scratch/pairs"
  for job in "$a" "$b" "$c" "$d"; do scontrol update JobId="$job" StartTime=now; done
  eventually 'pair: all four run' eval '[[ $(squeue -h -t R | wc -l) == 4 ]]'
  check 'pair: two on each node, heavy beside light' eval '[[ $(squeue -h -t R -o "%N %k" | sort | uniq -c | grep -c "^ *1 ") == 4 ]]'

  # The job only records what it would measure with.
  printf '#!/bin/sh\nprintf "%%s\\n" "$@" >%q\n' "$scratch/onboarding" >"$scratch/pretend"
  chmod +x "$scratch/pretend"
  clean
  BANDMATE_SLURM=off BANDMATE=$scratch/pretend bandmate slurm onboard triad -t 10 --sbatch=--output=/dev/null --option=--iterations=3 -- bandmate sample 'two words' >/dev/null
  eventually 'onboard: the job onboards by its node'"'"'s machine, words as they were' eval '[[ $(paste -sd "|" "'"$scratch/onboarding"'") == "onboard|--machine=blade|triad|--store='"$BANDMATE_STORE"'|--iterations=3|--|bandmate|sample|two words" ]]'
  clean
  hack/slurm.sh down "$scratch/pair"
fi

# random_queue N submits jobs of random sizes, memory, GPUs and lengths.
random_queue() {
  local names=(heavy tender light) lengths=(0.2 0.5 1 1.5) arguments
  RANDOM=16
  for _ in $(seq 1 "$1"); do
    arguments=(--comment "bandmate=${names[RANDOM % 3]}" -n $((1 << RANDOM % 4)) --mem=$((RANDOM % 5 * 200 + 10)))
    ((RANDOM % 6)) || arguments+=(--gres=gpu:1)
    ((RANDOM % 12)) || arguments+=(-N 2 -n 4)
    ((RANDOM % 10)) || arguments+=(-x "n0$((RANDOM % 4 + 1))")
    ((RANDOM % 15)) || arguments+=(-p odd,pack)
    # Some ask for what no node has, as two nodes with GPUs.
    BANDMATE_SLURM=off sbatch -Q -o /dev/null "${arguments[@]}" "$scratch/sleep" "${lengths[RANDOM % 4]}" 2>/dev/null || true
  done
}

# excluded_by_watch prints each job whose exclusions are those of the watch, with all of
# them and those that the job had itself, "-" without any.
excluded_by_watch() {
  jq -Rnr '[inputs | fromjson?] | group_by(.job)[] | last | select(.action == "exclude" or .action == "change")
    | "\(.job) \(.excluded) \(.original // "" | if . == "" then "-" else . end)"' "$scratch/log"
}

# kept_waiting puts each pending job beside each node that nobody uses and that the watch
# excludes for it into pairs: on such a node nobody can exceed a limit.
declare -A hosts=([-]='')
kept_waiting() {
  local idle job excluded own node list
  pairs=()
  mapfile -t idle < <(sinfo -h -N -p pack -t idle -o %N)
  ((${#idle[@]} > 0)) || return 0
  while read -r job excluded own; do
    for list in "$excluded" "$own"; do
      [[ -n ${hosts[$list]+known} ]] || hosts[$list]=" $(scontrol show hostnames "$list" | tr '\n' ' ')"
    done
    for node in "${idle[@]}"; do
      [[ ${hosts[$excluded]} != *" $node "* || ${hosts[$own]} == *" $node "* ]] || pairs+=("$job:$node")
    done
  done < <(join -j 1 -o 1.1,1.2,2.3,2.2 <(squeue -h -t PD -o '%i %x' | sort -k 1,1) <(excluded_by_watch | sort -k 1,1) | awk '$2 == $4 {print $1, $2, $3}')
}

# progress prints when the last round of the watch that succeeded began, in nanoseconds,
# and how often Slurm has looked for jobs to start.
progress() {
  date -d "$(jq -r '.lastGoodRound.time // "1970-01-01"' "$scratch/state/status.json")" +%s%N
  sdiag | awk '/Total cycles/ {print $3; exit}'
}

# nobody_is_kept_waiting watches a queue until it is empty. Jobs that come first may be
# meant for a node until Slurm has had the time to start them. So a job that is kept off a
# node may be so for three rounds and three looks of Slurm, however long they take on a
# busy machine.
nobody_is_kept_waiting() {
  local -A since=() rounds=() looks=()
  local pair pairs at began cycles last='' round deadline=$((SECONDS + 600)) longest=0
  while ! queue_empty; do
    ((SECONDS < deadline)) || { echo "jobs are left after 600 s"; return 1; }
    { read -r began; read -r cycles; } < <(progress)
    round=0
    [[ $began == "$last" ]] || round=1
    last=$began
    at=$(date +%s%N)
    kept_waiting
    for pair in "${!since[@]}"; do
      [[ " ${pairs[*]} " == *" $pair "* ]] || unset "since[$pair]" "rounds[$pair]" "looks[$pair]"
    done
    for pair in "${pairs[@]}"; do
      if [[ -z ${since[$pair]:-} ]]; then
        since[$pair]=$at rounds[$pair]=0 looks[$pair]=$cycles
        continue
      fi
      ((began <= since[$pair])) || ((rounds[$pair] += round)) || true
      ((rounds[$pair] <= longest)) || longest=${rounds[$pair]}
      ((rounds[$pair] < 4 || cycles - looks[$pair] < 4)) || {
        echo "job ${pair%:*} has been kept off ${pair#*:}, which nobody uses, for ${rounds[$pair]} rounds and $((cycles - looks[$pair])) looks of Slurm"
        grep "\"job\":\"${pair%:*}\"" "$scratch/log"
        return 1
      }
    done
    sleep 0.3
  done
  echo "$longest" >>"$scratch/longest"
}

if part delay; then
  SELECT=CR_Core_Memory FIRST_GRES=gpu:2 cluster delay 4
  random_queue 240 &
  submitting=$!
  eventually 'delay: the queue fills' eval '[[ $(squeue -h | wc -l) -gt 4 ]]'
  watch_on --margin 0.05
  check 'delay: nobody waits for a node that is free for longer than some rounds' nobody_is_kept_waiting
  wait "$submitting"
  check 'delay: the rest, too' nobody_is_kept_waiting
  check 'delay: the watch had its say' eval '[[ $(grep -c "\"action\":\"exclude\"" "$scratch/log") -gt 20 ]]'
  echo "      240 jobs, $(grep -c '"action":"exclude"' "$scratch/log") exclusions, $(grep -c '"action":"given-up"' "$scratch/log" || true) given up, longest on a free node $(sort -n "$scratch/longest" | tail -n 1) rounds"
  end_watch TERM
  clean
  hack/slurm.sh down "$scratch/delay"
fi

# twins writes PAIRS pairs of partitions, of four nodes each.
twins() {
  local k name first=1
  for ((k = 1; k <= $1; k++)); do
    for name in with without; do
      printf 'PartitionName=%s%d Nodes=n[%02d-%02d] OverSubscribe=NO MaxTime=60 State=UP\n' "$name" "$k" "$first" $((first + 3))
      first=$((first + 4))
    done
  done
}

if part queues; then
  pairs=${PAIRS:-2}
  EXTRA_CONF=$(twins "$pairs") SELECT=CR_Core_Memory FIRST_GRES=gpu:2 GRES_EVERY=4 cluster queues $((8 * pairs))
  go build -o "$scratch/bin/e2e-slurm" ./hack/e2e-slurm
  (exec bandmate slurm watch --mode enforce --margin 0.05 --state "$scratch/state" --log "$scratch/log" --interval 1s --timeout 10s -q >/dev/null 2>&1) &
  background=$!
  eventually 'queues: the watch runs' eval 'bandmate slurm watch status --state "$scratch/state"'
  check 'queues: no job stays off nodes on which Slurm would start it for longer than a round' \
    eval 'e2e-slurm -queues "${QUEUES:-4}" -pairs "$pairs" -program "$scratch/sleep" >"$scratch/queues.txt"'
  sed 's/^/      /' "$scratch/queues.txt"
  end_watch TERM
  clean
  hack/slurm.sh down "$scratch/queues"
fi

if part scale; then
  cluster scale 100
  for n in $(seq 1 100); do labeled "$( ((n % 3)) && echo light || echo tender)" -w "$(printf 'n%02d' "$n")" -n 6 >/dev/null; done
  # Slurm starts a job again two minutes after its start failed.
  check 'scale: 100 residents run' wait_until 180 eval '[[ $(squeue -h -t R | wc -l) == 100 ]]'
  for _ in $(seq 1 250); do
    for name in heavy tender light heavy; do labeled "$name" -n 4 --begin=now+3600 >/dev/null; done
  done
  eventually 'scale: 1,000 jobs wait' eval '[[ $(squeue -h -t PD | wc -l) == 1000 ]]'
  round
  echo "      first round:  $(bandmate slurm watch status --state "$scratch/state" | sed -n 's/^round *[^,]*, //p'), $(bandmate slurm watch status --state "$scratch/state" | sed -n 's/^changes *//p')"
  for _ in 1 2 3; do
    round
    echo "      later round:  $(bandmate slurm watch status --state "$scratch/state" | sed -n 's/^round *[^,]*, //p')"
  done
  check 'scale: heavy jobs stay off a third of the nodes' eval '[[ $(squeue -h -t PD -o "%k %x" | sort | uniq -c | sort -rn | head -n 1) == *heavy*n* || $(squeue -h -t PD -o "%k %x" | grep -c "heavy n") == 500 ]]'
  scancel -u "$(id -un)"
  eventually '  (the queue is empty again)' queue_empty
  hack/slurm.sh down "$scratch/scale"
fi

summary
