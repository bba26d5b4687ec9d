#!/bin/sh
# lint_cu.sh NVCC ROOT accept|accept_atomics|reject FILE.cu [FLAG...]: compiles FILE.cu to PTX with and without
# -fmad=false and runs ptx_lint.sh on both, accept_atomics with its --atomics. Succeeds if the verdict is the one named. A file that does not compile fails either way.
set -eu
if [ "$#" -lt 4 ]; then
  echo "usage: lint_cu.sh NVCC ROOT accept|accept_atomics|reject FILE.cu [FLAG...]" >&2
  exit 2
fi
nvcc=$1
root=$2
expected=$3
source=$4
shift 4
atomics=
case $expected in
  accept) wanted=0 ;;
  accept_atomics)
    wanted=0
    atomics=--atomics
    ;;
  reject) wanted=1 ;;
  *)
    echo "lint_cu.sh: the third argument is accept, accept_atomics or reject, not $expected" >&2
    exit 2
    ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
compile() {
  "$nvcc" -ptx -arch=sm_90 -std=c++20 -I"$root" "$@"
}
compile "$@" "$source" -o "$work/kernel.ptx"
compile "$@" -fmad=false "$source" -o "$work/no_fmad.ptx"
code=0
sh "$root/kernels/simt/tools/ptx_lint.sh" ${atomics:+"$atomics"} --against "$work/no_fmad.ptx" "$work/kernel.ptx" || code=$?
[ "$code" -eq "$wanted" ]
