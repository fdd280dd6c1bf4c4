#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Usage: sbatch --array=1-SHARDS array.sh IN FOLDER SHARDS [FLAG...]   One task is one shard. Where its
# node fails or another job takes its place, Slurm queues it again, and --resume goes on with the part
# that is in the folder. SIGINT, a minute before the time is over, ends it with whole lines; the task
# then queues itself again.
#SBATCH --job-name=bittern
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:INT@60
set -uo pipefail
input=$1 folder=$2 shards=$3
shift 3
task=${SLURM_ARRAY_TASK_ID:?array.sh is for sbatch --array=1-SHARDS}
"${BITTERN:-bittern}" batch "$input" --shard "$task/$shards" --resume -o "$folder/part-$task.jsonl" \
  -t "${SLURM_CPUS_PER_TASK:-${SLURM_CPUS_ON_NODE:-0}}" "$@" &
batch=$!
trap 'kill -INT "$batch"' INT
while :; do
  wait "$batch"
  status=$?
  kill -0 "$batch" 2>/dev/null || break # else a signal ended the wait, not the batch
done
if [ "$status" -eq 130 ]; then
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_$task"
  sleep 60 # until Slurm takes this run away
fi
exit "$status"
