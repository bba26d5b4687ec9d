#!/bin/bash
# Builds every fuzz target into $OUT, for OSS-Fuzz and ClusterFuzzLite. From the outside it takes $CC, $CXX, $CFLAGS,
# $CXXFLAGS, $LIB_FUZZING_ENGINE, $SRC, $WORK and $OUT, and nothing else; of what it makes only $OUT survives.
# Arguments, for a try: the targets to build instead of all that CMake names, like fuzz_witness.
set -euo pipefail

tree=$SRC/flashproof
build=$WORK/flashproof
options=(
  -DFLASHPROOF_FUZZ_ONLY=ON
  -DFLASHPROOF_FUZZING_ENGINE="$LIB_FUZZING_ENGINE"
  -DCMAKE_BUILD_TYPE=None # the flags that are given, and no others
  -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX"
  -DCMAKE_C_FLAGS="$CFLAGS" -DCMAKE_CXX_FLAGS="$CXXFLAGS"
)
if [[ -d $SRC/highway/hwy ]]; then options+=(-DHWY_INCLUDE="$SRC/highway"); fi # of the image (Dockerfile), else the system's
cmake -S "$tree" -B "$build" -G Ninja "${options[@]}"
mapfile -t targets <"$build/fuzz_targets.txt"
if (($#)); then targets=("$@"); fi
cmake --build "$build" --target "${targets[@]}" --parallel "$(nproc)"

for name in "${targets[@]}"; do
  cp -- "$(find "$build/fuzz" -type f -name "$name")" "$OUT/$name"
  cp -- "$tree/fuzz/oss-fuzz/target.options" "$OUT/$name.options"
  corpus=$tree/fuzz/corpus/${name#fuzz_}
  seeds=$WORK/seeds/$name
  mkdir -p -- "$seeds"
  if [[ -f $corpus.txt ]]; then # case lines: the target itself knows their bytes
    "$OUT/$name" --seeds "$corpus.txt" "$seeds"
  fi
  if [[ -d $corpus ]]; then # and what no line can say
    find "$corpus" -type f -exec cp -t "$seeds" -- {} +
  fi
  if [[ -z $(find "$seeds" -type f -print -quit) ]]; then
    echo "build.sh: $name has no seed corpus ($corpus or $corpus.txt)" >&2
    exit 1
  fi
  (cd -- "$seeds" && python3 -m zipfile -c "$OUT/${name}_seed_corpus.zip" ./*)
done
