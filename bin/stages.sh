# Sourced by the scripts beside it: named stages, each timed by the clock and in CPU time. The first failure ends the script; with
# STAGES_GO_ON=true the stages after it run too, and `stages_end` says at the end which failed and what each said last.
# shellcheck shell=bash

STAGE_TIMES=()                 # one line a stage that passed
STAGES_FAILED=()               # names of those that failed, and beside them the files of what they said
STAGE_OUTPUTS=()
SIDE_NAMES=() SIDE_COMMANDS=() # stages waiting for `side_by_side`

STAGE_SESSION='' # the leader of a session of its own that works beside the stages, ended with them

STAGE_FOLDER=$(mktemp -d)
trap stages_leave EXIT
stages_leave() {
  # It may not be a leader yet, or have ended: in a trap too, errexit makes a failed kill the script's status.
  [ -z "$STAGE_SESSION" ] || kill -- "-$STAGE_SESSION" 2>/dev/null || kill "$STAGE_SESSION" 2>/dev/null || true
  rm -rf "$STAGE_FOLDER"
}

# stage NAME COMMAND...: runs a command, alone.
stage() {
  local name=$1 began=$SECONDS
  shift
  say "$name"
  if [ "${STAGES_GO_ON:-}" != true ]; then
    measured "$STAGE_FOLDER/cpu" "$@" || stage_failed "$name"
  else
    local output
    output=$STAGE_FOLDER/said.${#STAGES_FAILED[@]}
    if ! measured "$STAGE_FOLDER/cpu" "$@" 2>&1 | tee "$output"; then # pipefail: the command's own failure counts
      STAGES_FAILED+=("$name") STAGE_OUTPUTS+=("$output")
      return 0
    fi
  fi
  stage_passed "$name" $((SECONDS - began)) "$STAGE_FOLDER/cpu"
}

# side NAME COMMAND...: adds a stage to those that `side_by_side` runs.
side() {
  SIDE_NAMES+=("$1")
  SIDE_COMMANDS+=("$(shift && printf '%q ' "$@")")
}

# side_by_side [WIDTH]: runs the stages that `side` has added, as many at once as there are processors, or WIDTH of them. The output of
# each is shown when it ends.
side_by_side() {
  local width next=0 failed='' pid i
  local -A at=() began=()
  width=${1:-$(nproc)}
  while [ "$next" -lt ${#SIDE_NAMES[@]} ] || [ ${#at[@]} -gt 0 ]; do
    while [ -z "$failed" ] && [ "$next" -lt ${#SIDE_NAMES[@]} ] && [ ${#at[@]} -lt "$width" ]; do
      measured "$STAGE_FOLDER/cpu.$next" eval "${SIDE_COMMANDS[$next]}" >"$STAGE_FOLDER/out.$next" 2>&1 </dev/null &
      at[$!]=$next began[$!]=$SECONDS
      next=$((next + 1))
    done
    [ ${#at[@]} -gt 0 ] || break
    local status=0
    wait -n -p pid "${!at[@]}" || status=$?
    i=${at[$pid]}
    say "${SIDE_NAMES[$i]}"
    cat "$STAGE_FOLDER/out.$i"
    if [ "$status" -eq 0 ]; then
      stage_passed "${SIDE_NAMES[$i]}" $((SECONDS - began[$pid])) "$STAGE_FOLDER/cpu.$i"
    elif [ "${STAGES_GO_ON:-}" = true ]; then
      local output=$STAGE_FOLDER/said.${#STAGES_FAILED[@]}
      cp "$STAGE_FOLDER/out.$i" "$output"
      STAGES_FAILED+=("${SIDE_NAMES[$i]}") STAGE_OUTPUTS+=("$output")
    else failed=${failed:-${SIDE_NAMES[$i]}}; fi
    unset "at[$pid]"
  done
  SIDE_NAMES=() SIDE_COMMANDS=()
  [ -z "$failed" ] || stage_failed "$failed"
}

# measured FILE COMMAND...: runs a command and writes what CPU time it took, as bash's `times` says it, to a file.
measured() (
  status=0
  "${@:2}" || status=$?
  times >"$1"
  exit "$status"
)

stage_passed() { # NAME SECS FILE
  local cpu
  cpu=$(awk '{ for (i = 1; i <= NF; i++) { split($i, t, /[ms]/); s += 60 * t[1] + t[2] } } END { printf "%.0f", s }' "$3")
  STAGE_TIMES+=("$(printf '%5d s  %5d s CPU  %s' "$2" "$cpu" "$1")")
}

stage_failed() {
  printf '\n' >&2
  stage_times
  die "$1 failed"
}

# Ends a script with STAGES_GO_ON: repeats the last lines of each stage that failed, since a log is often kept from its end only.
stages_end() {
  [ ${#STAGES_FAILED[@]} -gt 0 ] || return 0
  local i
  for i in "${!STAGES_FAILED[@]}"; do
    say "${STAGES_FAILED[$i]} failed; it ended with"
    tail -n 25 "${STAGE_OUTPUTS[$i]}" | cut -c1-400 >&2
  done
  printf '\n' >&2
  stage_times >&2
  die "failed: $(printf '%s; ' "${STAGES_FAILED[@]}")"
}

stage_times() {
  local line
  for line in "${STAGE_TIMES[@]}"; do printf '  %s\n' "$line"; done
}

# in_folder FOLDER COMMAND...: a command from inside a folder of the checkout.
in_folder() { (cd "$ROOT/$1" && "${@:2}"); }
