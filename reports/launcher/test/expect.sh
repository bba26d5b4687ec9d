# shellcheck shell=bash
# What the launcher's tests say of ./flashproof in a tree of their own. Sourced by launcher_test.sh and revisions_test.sh, which set
# tree, work and failures=0.
# shellcheck disable=SC2154,SC2034  # tree and work are theirs; out is read there

run() { # ARGUMENTS...: sets out, err, code
  code=0
  out=$(cd -- "$work/here" && "$tree/flashproof" "$@" 2>"$work/err") || code=$?
  err=$(<"$work/err")
}
expect() { # WHAT CONDITION...
  local what=$1
  shift
  if ! "$@"; then
    failures=$((failures + 1))
    printf 'FAILED: %s (exit %s)\n--- stdout\n%s\n--- stderr\n%s\n' "$what" "$code" "$out" "$err"
  fi
}
is() { [[ $1 == "$2" ]]; }
has() { [[ $1 == *"$2"* ]]; }
lacks() { [[ $1 != *"$2"* ]]; }
