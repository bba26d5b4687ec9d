#!/bin/sh
# golden.sh ROOT COMPILER [FLAG...]: compiles kernels/simt/det_math/det_math_golden.cc with these flags and runs it. Its exit
# status says whether the deterministic functions gave the stored bits.
set -eu
if [ "$#" -lt 2 ]; then
  echo "usage: golden.sh ROOT COMPILER [FLAG...]" >&2
  exit 2
fi
root=$1
compiler=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
"$compiler" -std=c++20 -I"$root" "$@" "$root/kernels/simt/det_math/det_math_golden.cc" -o "$work/golden"
"$work/golden"
