#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Usage: sbatch --dependency=afterok:ARRAY merge.sh IN FOLDER SHARDS OUT   Makes OUT of all parts in the
# folder, or says which one is not as it must be.
#SBATCH --job-name=bittern-merge
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail
input=$1 folder=$2 shards=$3 output=$4
parts=()
for ((i = 1; i <= shards; i++)); do parts+=("$folder/part-$i.jsonl"); done
exec "${BITTERN:-bittern}" batch "$input" --merge "${parts[@]}" -o "$output"
