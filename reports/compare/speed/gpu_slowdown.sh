#!/usr/bin/env bash
# Is a slowdown of 3 % on a GPU seen, and none where there is none? reports/compare/speed/gpu_slowdown.sh OUT-DIRECTORY [KERNEL [ROUNDS
# [PERCENT]]]: builds the CUDA preset's gpu_slowdown, runs it, compares. Exit: 1 if compare says anything else, 4 without a GPU.
set -euo pipefail

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../../.." && pwd)
build=$root/build/cuda
if (($# < 1 || $# > 4)); then
  echo "usage: ${0##*/} OUT-DIRECTORY [KERNEL [ROUNDS [PERCENT]]]" >&2
  exit 2
fi
out=$1
if [[ ! -e $build/build.ninja ]]; then cmake -S "$root" --preset cuda >&2 || exit 3; fi
cmake --build "$build" --target gpu_slowdown flashproof-cli >&2 || exit 3
"$build/reports/compare/gpu_slowdown" "$@" || exit $?

failed=0
expect() { # FILE WORDS: what compare must say of it beside base.json
  local text
  text=$("$build/reports/flashproof-cli" compare --bench "$out/base.json" "$out/$1")
  printf '%s\n' "$text"
  if [[ $text != *"$2"* ]]; then
    printf 'FAILED: %s is not "%s"\n' "$1" "$2" >&2
    failed=1
  fi
}
expect again.json 'no change shown'
expect slow.json 'slower by'
exit "$failed"
