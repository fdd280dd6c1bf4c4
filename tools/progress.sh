# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by ./bittern and ./check: runs a long command quietly and shows that it moves.

# What a line of a log says of how far the work is: a step of ninja, a test of ctest, a package of
# apt; otherwise its first words.
progress_of_line() {
  local line=${1//$'\r'/}
  if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
    printf 'step %s of %s' "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
  elif [[ $line =~ ^\ *([0-9]+)/([0-9]+)\ +Test ]]; then
    printf 'test %s of %s' "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
  elif [[ $line =~ ^(Get:[0-9]+|Unpacking|Setting\ up|Selecting|Preparing)\ (.*) ]]; then
    printf '%.60s' "$line"
  fi
}

# watch_log LABEL LOG PARENT: until it is killed or PARENT ends, shows LABEL, the seconds so far and
# what the last telling line of LOG says: on a terminal in one line every second, elsewhere in a
# line of its own every 30 seconds.
watch_log() {
  local label=$1 log=$2 parent=$3 start=$SECONDS line='' told='' now shown every=30 never
  if [ -t 2 ]; then
    every=1
    printf '\r\033[K%.100s' "$label" >&2
  fi
  # Waits on a pipe that nobody writes to: a `sleep` would outlive us and keep the caller's pipes open.
  never=$(mktemp -d)
  mkfifo "$never/pipe"
  exec 8<>"$never/pipe"
  rm -r "$never"
  while ! read -r -t "$every" -u 8 && kill -0 "$parent" 2>/dev/null; do
    line=$(tail -n 500 "$log" 2>/dev/null |
      grep -aE '^(\[[0-9]+/| *[0-9]+/[0-9]+ +Test|Get:|Unpacking|Setting up|Selecting|Preparing)' | tail -n 1) || true
    now=$(progress_of_line "$line")
    told=${now:-$told}
    shown="$label, $((SECONDS - start)) s${told:+: $told}"
    if [ -t 2 ]; then printf '\r\033[K%.100s' "$shown" >&2; else printf '%s\n' "$shown" >&2; fi
  done
}

# run_shown LABEL LOG COMMAND...: runs it with its output in LOG; returns its status.
run_shown() {
  local label=$1 log=$2 status=0 watcher
  shift 2
  : >"$log"
  watch_log "$label" "$log" $$ </dev/null >/dev/null &
  watcher=$!
  "$@" >>"$log" 2>&1 || status=$?
  kill "$watcher" 2>/dev/null
  wait "$watcher" 2>/dev/null || true
  [ -t 2 ] && printf '\r\033[K' >&2
  return "$status"
}
