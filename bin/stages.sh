# Sourced by the scripts beside it: named stages, each timed, the first failure ending the whole.
# shellcheck shell=bash

STAGE_NAMES=() STAGE_SECS=()

# stage NAME COMMAND...
stage() {
  local name=$1 began=$SECONDS
  shift
  say "$name"
  if ! "$@"; then
    printf '\n' >&2
    stage_times
    die "$name failed"
  fi
  STAGE_NAMES+=("$name") STAGE_SECS+=($((SECONDS - began)))
}

stage_times() {
  local i
  for i in "${!STAGE_NAMES[@]}"; do printf '  %5d s  %s\n' "${STAGE_SECS[$i]}" "${STAGE_NAMES[$i]}"; done
}

# A command from inside a folder of the checkout.
in_folder() { (cd "$ROOT/$1" && "${@:2}"); }
