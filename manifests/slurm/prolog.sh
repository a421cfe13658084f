#!/bin/sh
# Prolog of slurmd: begins to record the memory traffic of the node for a job.
# With epilog.sh every job leaves a line in $BANDMATE_RECORDS: what the memory
# controllers of the node counted while the job was there. That is the job's own
# traffic only if it had the node to itself, and the line says whether it had.
#
# slurm.conf: Prolog=/etc/slurm/prolog.sh  Epilog=/etc/slurm/epilog.sh
# or call both from the ones you have. They never fail a job and never wait.
#
# Only counters are used (BANDMATE_SOURCE, see bandmate doctor), never the probe,
# which would disturb the job. Where there are none, nothing is recorded.
source=${BANDMATE_SOURCE:-imc}
folder=${BANDMATE_RUN:-/run/bandmate-jobs}
bandmate=${BANDMATE:-/usr/bin/bandmate}
longest=${BANDMATE_LONGEST:-240h}

case ${SLURM_JOB_ID:-} in
'' | *[!0-9]*) exit 0 ;;
esac
[ "$source" != probe ] && command -v "$bandmate" >/dev/null || exit 0
mkdir -p "$folder" && umask 077 || exit 0
end=$folder/$SLURM_JOB_ID.end
rm -f "$end" && mkfifo "$end" || exit 0

# What is measured is a cat that reads until the epilog comes. In a session of its
# own and without slurmd's descriptors, so that nobody waits for it.
setsid "$bandmate" measure --source "$source" --interval 10s --timeout "$longest" -o json -- cat "$end" \
  </dev/null >"$folder/$SLURM_JOB_ID.json" 2>"$folder/$SLURM_JOB_ID.log" &
exit 0
