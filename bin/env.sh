# Sourced by the other scripts: paths of the checkout, and a PATH with the machine's toolchains.
# shellcheck shell=bash

ROOT=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
VENV=$ROOT/backend/.venv
STAMPS=$ROOT/.setup
export ROOT VENV STAMPS

# If Python must not write bytecode into the sources, it writes it here: without any, each start
# compiles all modules for seconds.
if [ -n "${PYTHONDONTWRITEBYTECODE:-}" ] && [ -z "${PYTHONPYCACHEPREFIX:-}" ]; then
  unset PYTHONDONTWRITEBYTECODE
  export PYTHONPYCACHEPREFIX=$STAMPS/bytecode
fi

PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin # dockerd, debootstrap and iptables, for a user without them on PATH

# rustup's cargo lives in a home folder that a login shell or `sudo` may have left off PATH.
if ! command -v cargo >/dev/null 2>&1; then
  for home in "$HOME" "$(getent passwd "${SUDO_USER:-root}" | cut -d: -f6)"; do
    if [ -x "$home/.cargo/bin/cargo" ]; then
      export CARGO_HOME=${CARGO_HOME:-$home/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$home/.rustup}
      PATH=$home/.cargo/bin:$PATH
      break
    fi
  done
fi
export PATH

# CI builds once: incremental builds and debug information would cost time. Set-up and tests must
# use the same settings, or all crates are built twice.
if [ "${CI:-}" = true ]; then export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0; fi

# The lines of a package in the developers' lock, with its digests: pinned setuptools.
pinned() { sed -n "/^$1==/,/[^\\\\]$/p" "$ROOT/backend/requirements-dev.txt"; }

# Bold on a terminal, unless a variable forbids it.
say() {
  local bold='' plain=''
  if [ -t 2 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
  printf '%s==> %s%s\n' "$bold" "$*" "$plain" >&2
}
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Prompts y/N on a terminal, where standard output may be a pipe. Only an answer there or YES=1 is a
# yes: without a terminal the answer is no, in CI too.
agree() {
  local answer
  if [ "${YES:-}" = 1 ]; then return 0; fi
  if ! has_terminal; then return 1; fi
  read -r -p "$1 [y/N] " answer
  case $answer in y | Y | yes) return 0 ;; *) return 1 ;; esac
}

has_terminal() { [ -t 0 ] && [ -t 2 ]; }

# Runs a command as root: as it is when we are root, by sudo when we are not.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null 2>&1; then
    sudo "$@"
  else
    die "this needs root, and there is no sudo: $*"
  fi
}

# The first Chromium or Chrome that starts: on Ubuntu the package may only refer to a snap.
find_chromium() {
  local candidate
  for candidate in "${CUBEYARD_CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable; do
    [ -n "$candidate" ] || continue
    candidate=$(command -v "$candidate") || continue
    if "$candidate" --version 2>/dev/null | grep -Eq '[0-9]+\.[0-9]+'; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

# The first Python 3.11 or later. 3.11 is preferred after the machine's default: tests use it most.
find_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3 python3.11 python3.12 python3.13 python3.14; do
    [ -n "$candidate" ] || continue
    candidate=$(command -v "$candidate") || continue
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

# A tool of one major version of LLVM, under its plain name or with the version behind: find_tool
# clang 19.
find_tool() {
  local candidate
  for candidate in "$1-$2" "$1"; do
    if command -v "$candidate" >/dev/null 2>&1 && [[ $("$candidate" --version) == *"version $2."* ]]; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

# Sets CLANG, STRIP, OBJCOPY, OBJDUMP and LLVM (the full version): the first complete version of
# LLVM_VERSIONS.
LLVM_LEAST=15
LLVM_VERSIONS=(19 22 21 20 18 17 16 "$LLVM_LEAST") # 19 first: it built the object that is kept
find_llvm() {
  local version
  for version in "${LLVM_VERSIONS[@]}"; do
    CLANG=$(find_tool clang "$version") && STRIP=$(find_tool llvm-strip "$version") &&
      OBJCOPY=$(find_tool llvm-objcopy "$version") && OBJDUMP=$(find_tool llvm-objdump "$version") || continue
    LLVM=$("$CLANG" -dumpversion)
    export CLANG STRIP OBJCOPY OBJDUMP LLVM
    return 0
  done
  return 1
}

# Programs that the benchmarks compare with.
has_igraph() { "$VENV/bin/python" -c 'import igraph' 2>/dev/null; }
has_simgrid() { command -v c++ >/dev/null 2>&1 && [[ $(ldconfig -p) == *"/libsimgrid.so"$'\n'* ]]; }
has_mininet() { /usr/bin/python3 -c 'import mininet' 2>/dev/null && command -v brctl >/dev/null 2>&1; }
