#!/usr/bin/env bash
# Onboards the built-in samples on one CPU, beside interferers on up to seven others,
# measures what groups of one, three and seven samples cost each of them, and writes that
# as a data set (apps.csv, curves.csv, pairs.csv, groups.csv), which bandmate evaluate reads.
# Wants the machine to itself for about ten minutes.
#
#   hack/evaluate-groups.sh FOLDER
#
# A group is one program to bandmate observe: all of it is paused and continued together.
# Up to eight CPUs are used, evenly apart, as neighboring numbers may be threads of one core.
# Errors count only where the column placement is the same everywhere. BANDMATE is the
# program, built here if it is not set; DURATION the longest time of a measurement.
source "$(dirname "$0")/lib.sh"
need jq jq
need taskset util-linux
(($# == 1)) || { sed -n '2,14s/^# \?//p' "$0" >&2; exit 2; }
output=$(realpath -m "$1")
mkdir -p "$output"
program=${BANDMATE:-$scratch/bandmate}
[[ -n ${BANDMATE-} ]] || go build -o "$program" ./cmd/bandmate
export BANDMATE_STORE=$scratch/store
bandmate() { "$program" --quiet "$@"; }

readonly samples=(triad radix-sort stencil conjugate-gradient pointer-chase floating-point)
readonly endless=1000 # the largest scale: minutes
readonly step=$((($(nproc) + 7) / 8))
mapfile -t cpus < <(seq 0 "$step" $(($(nproc) - 1)) | head -n 8)
((${#cpus[@]} > 1)) || { echo "two CPUs are needed" >&2; exit 4; }
beside=("${cpus[@]:1}")
place=(--cpus "${cpus[0]}" --interferer-cpus "$(IFS=,; echo "${beside[*]}")")

cat >"$scratch/group" <<SCRIPT
#!/bin/sh
# group CPU:SAMPLE... runs each sample on its CPU.
for member in "\$@"; do taskset -c "\${member%%:*}" "$program" sample --scale $endless -q "\${member#*:}" >/dev/null & done
wait
SCRIPT
chmod +x "$scratch/group"

# times NAME N prints the name N times.
times() { for ((i = 0; i < $2; i++)); do printf '%s ' "$1"; done; }

# measure TARGET SAMPLE... appends a row: the target beside the others.
measure() {
  local target=$1 members=() file=groups i=0 sample
  shift
  (($# > 1)) || file=pairs
  for sample in "$@"; do
    members+=("${beside[i++]}:$sample")
  done
  bandmate observe -o json --duration "${DURATION:-5s}" "${place[@]}" --beside "$scratch/group ${members[*]}" \
    -- "$program" sample --scale "$endless" -q "$target" |
    jq -r --arg row "$target,$(IFS=+; echo "$*")" \
      '.control as $c | .placement as $placement | .beside[0] | [$row, 1 / .slowdown, (.high | if . then 1 / . else null end), (.low | if . then 1 / . else null end), 1 / $c.slowdown, .blocks, $placement] | join(",")' \
      >>"$output/$file.csv"
  tail -n 1 "$output/$file.csv" >&2
}

bandmate machine --name here "${place[@]}" >&2
echo app,local_runtime_s,local_read_Bps,local_write_Bps,remote_runtime_s,remote_read_Bps,remote_write_Bps,relative_uncertainty,source,ticks,placement >"$output/apps.csv"
echo app,read_pct,level,interferer_solo_read_Bps,interferer_solo_write_Bps,norm_perf,interferer_corun_read_Bps,interferer_corun_write_Bps,readings,standard_error >"$output/curves.csv"
for name in "${samples[@]}"; do
  bandmate onboard "$name" --machine here "${place[@]}" -- "$program" sample -q "$name" >&2
  bandmate profiles show "$name" -o json >"$scratch/profile"
  jq -r '.metadata.name as $name | .spec | .contentiousness as $c
    | [.solo.seconds, $c.readBytesPerSecond, $c.writeBytesPerSecond] as $solo
    | [$name] + $solo + $solo + [$c.relativeUncertainty, $c.source, .measurement.ticks, .measurement.regime.name] | join(",")' "$scratch/profile" >>"$output/apps.csv"
  jq -r '.metadata.name as $name | .spec.curves[] | .readShare as $r | .points[]
    | [$name, 100 * $r, .level, .interfererBytesPerSecond * $r, .interfererBytesPerSecond * (1 - $r), .normalizedPerformance,
       .achievedBytesPerSecond * $r, .achievedBytesPerSecond * (1 - $r), .repeats, .spread / (.repeats | sqrt)] | join(",")' "$scratch/profile" >>"$output/curves.csv"
done

groups=(triad "$(times triad 3)" "$(times triad 7)" "$(times stencil 7)" "triad stencil pointer-chase"
  "$(times conjugate-gradient 7)" "${samples[*]} triad" "$(times stencil 3)")
for file in pairs groups; do
  echo "app,corunner$([[ $file == pairs ]] || echo s),norm_perf,low,high,control,blocks,placement" >"$output/$file.csv"
done
for group in "${groups[@]}"; do
  read -r -a members <<<"$group"
  ((${#members[@]} <= ${#beside[@]})) || continue
  for target in "${samples[@]}"; do
    measure "$target" "${members[@]}"
  done
done
(($(wc -l <"$output/groups.csv") > 1)) || rm "$output/groups.csv"
bandmate evaluate "$output"
