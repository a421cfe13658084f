#!/bin/sh
# Epilog of slurmd: ends what prolog.sh began, and appends its line:
#
#   {"job":4711,"node":"n01","alone":true,"traffic":{…as bandmate measure -o json…}}
#
# "alone" is false when another job was recorded at the same time.
records=${BANDMATE_RECORDS:-/var/log/bandmate/jobs.jsonl}
folder=${BANDMATE_RUN:-/run/bandmate-jobs}

case ${SLURM_JOB_ID:-} in
'' | *[!0-9]*) exit 0 ;;
esac
end=$folder/$SLURM_JOB_ID.end
measured=$folder/$SLURM_JOB_ID.json
[ -p "$end" ] || exit 0

alone=true
for other in "$folder"/*.end; do
  [ "$other" = "$end" ] || alone=false
done
# Jobs that are still there were not alone either.
[ "$alone" = true ] || for other in "$folder"/*.end; do : >"${other%.end}.shared"; done
[ ! -e "$folder/$SLURM_JOB_ID.shared" ] || alone=false

# In the background: the node is free as soon as this script ends.
(
  timeout 10 sh -c ': >"$1"' sh "$end" || true
  waited=0
  while [ "$waited" -lt 20 ] && ! tail -c 2 "$measured" | grep -q '}'; do
    sleep 0.5
    waited=$((waited + 1))
  done
  traffic=$(tr -d '\n' <"$measured")
  case $traffic in
  '{'*'}')
    mkdir -p "$(dirname "$records")"
    printf '{"job":%s,"node":"%s","alone":%s,"traffic":%s}\n' \
      "$SLURM_JOB_ID" "${SLURMD_NODENAME:-$(hostname -s)}" "$alone" "$traffic" >>"$records"
    ;;
  esac
  rm -f "$end" "$measured" "$folder/$SLURM_JOB_ID.log" "$folder/$SLURM_JOB_ID.shared"
) </dev/null >/dev/null 2>&1 &
exit 0
