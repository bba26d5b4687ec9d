#!/usr/bin/env bash
# The main that stands in for a fuzzing engine (replay_main.cc), on files that are none: one line, exit 2.
# Usage: replay_test.sh PROGRAM FOLDER-OF-INPUTS
set -uo pipefail

program=$(realpath -- "$1")
inputs=$(realpath -- "$2")
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cd -- "$work" || exit 3
mkfifo pipe
ln -s /dev/zero zero
truncate -s 8T sparse
mkdir empty folder
mkfifo folder/pipe
truncate -s 8T folder/sparse

failures=0
expect() { # CODE TEXT ARGUMENT...
  local code=$1 text=$2 got=0
  shift 2
  timeout 20 "$program" "$@" >out 2>err || got=$?
  if [[ $got != "$code" || $(tail -n 1 err) != *"$text"* || ($code != 0 && $(wc -l <err) != 1) ]]; then
    failures=$((failures + 1))
    printf 'FAILED: %s: exit %s\n' "$*" "$got"
    head -n 5 err
  fi
}
expect 2 'pipe: must be a regular file' pipe
expect 2 'zero: must be a regular file' zero
expect 2 'sparse: 8796093022208 bytes, must be at most' sparse
expect 2 'missing: must be a regular file' missing
expect 2 'm\x1b[2J: must be a regular file' $'m\x1b[2J'
expect 2 'no input: name files or folders of files' empty
expect 2 'no input: name files or folders of files'
expect 2 'sparse: 8796093022208 bytes, must be at most' folder # its pipe and its device are no inputs
expect 0 'inputs replayed' "$inputs"
exit "$((failures > 0))"
