#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Usage: submit.sh IN OUT SHARDS [FLAG...]   Queues `bittern batch IN -o OUT` as an array of SHARDS
# tasks and a merge behind it. FLAGs go to every `bittern batch`. Parts lie in the folder OUT.parts,
# which all nodes must see, as IN and the model. $BITTERN is the program; $SBATCH_ARRAY_FLAGS are flags
# of sbatch for the tasks ("--cpus-per-task=8 --partition=long"). Prints the numbers of both jobs. The
# same command again goes on with what is there.
set -euo pipefail
if [ $# -lt 3 ]; then
  echo "usage: $0 IN OUT SHARDS [FLAG...]" >&2
  exit 1
fi
input=$(realpath -- "$1") output=$(realpath -m -- "$2") shards=$3
shift 3
folder=$(dirname -- "$(readlink -f -- "$0")")
if ! [[ $shards =~ ^[1-9][0-9]{0,3}$ ]] || [ "$shards" -gt 1000 ]; then
  echo "$0: SHARDS: a number of 1 to 1000 expected, \"$shards\" found" >&2
  exit 1
fi
if [ ! -f "$input" ]; then
  echo "$0: $input: a file expected, none found" >&2
  exit 1
fi
if [ -e "$output" ]; then
  echo "$0: $output exists already; choose another name" >&2
  exit 1
fi
mkdir -p -- "$output.parts"
# shellcheck disable=SC2086  # several flags
array=$(sbatch --parsable --array="1-$shards" --output="$output.parts/log-%a" ${SBATCH_ARRAY_FLAGS:-} \
  "$folder/array.sh" "$input" "$output.parts" "$shards" "$@")
merge=$(sbatch --parsable --dependency="afterok:$array" --kill-on-invalid-dep=yes \
  --output="$output.parts/log-merge" "$folder/merge.sh" "$input" "$output.parts" "$shards" "$output")
echo "array ${array%%;*}, merge ${merge%%;*}"
