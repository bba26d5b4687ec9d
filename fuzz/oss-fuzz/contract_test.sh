#!/usr/bin/env bash
# What OSS-Fuzz asks of a build, asked here: build.sh runs in a copy of the tree with the variables of the contract and no
# others; then everything but $OUT is deleted, $OUT is moved, and each target is judged as OSS-Fuzz's bad_build_check judges it.
# Usage: contract_test.sh REPOSITORY [TARGET...], without targets all of them. Exit 77: no clang-19 here.
set -euo pipefail

repository=$1
shift
if ! command -v clang++-19 >/dev/null; then
  echo 'SKIPPED: no clang-19 here'
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}

mkdir -p "$work"/{src/flashproof,work,out}
tar -C "$repository" --exclude=./build --exclude=./out --exclude=./.git --exclude=./.cuda -cf - . | tar -C "$work/src/flashproof" -xf -
cp "$repository/.clusterfuzzlite/build.sh" "$work/src/build.sh"
flags='-O1 -fno-omit-frame-pointer -gline-tables-only -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION -fsanitize=address -fsanitize-address-use-after-scope -fsanitize=fuzzer-no-link'
# The images there build with libc++, whose headers and library are separate packages here; Debian's libFuzzer is made for
# libstdc++ and wants that, too.
library='' engine=-fsanitize=fuzzer
if echo '#include <version>' | clang++-19 -stdlib=libc++ -xc++ -fsyntax-only - 2>/dev/null; then
  library=-stdlib=libc++ engine+=' -Wl,--push-state,--no-as-needed,-lstdc++,--pop-state'
fi
contract=(CC=clang-19 CXX=clang++-19 CFLAGS="$flags" CXXFLAGS="$flags $library" LIB_FUZZING_ENGINE="$engine"
  SRC="$work/src" WORK="$work/work" OUT="$work/out")
find "$work/src" -type f -exec md5sum {} + | sort >"$work/before"
start=$SECONDS
# ccache, where it is, finds its cache through HOME or CCACHE_DIR; they change no result.
(cd / && env -i PATH="$PATH" HOME="$HOME" ${CCACHE_DIR:+CCACHE_DIR="$CCACHE_DIR"} "${contract[@]}" bash "$work/src/build.sh" "$@") >"$work/log" 2>&1 ||
  { tail -n 40 "$work/log" && fail 'build.sh'; }
echo "built in $((SECONDS - start)) s ${library:+with libc++}"
find "$work/src" -type f -exec md5sum {} + | sort | cmp -s - "$work/before" || fail 'build.sh changed the sources'
mapfile -t named <"$work/work/flashproof/fuzz_targets.txt"
if (($#)); then named=("$@"); fi
mv "$work/out" "$work/elsewhere"
rm -rf -- "$work/src" "$work/work"
out=$work/elsewhere

run() { # TARGET ARGUMENTS...: from elsewhere, with nothing of this environment
  local name=$1
  shift
  (cd / && env -i PATH=/usr/bin:/bin "$out/$name" "$@") >"$work/run" 2>&1 || { tail -n 30 "$work/run" && fail "$name $*"; }
}

((${#named[@]})) || fail 'no target'
for name in "${named[@]}"; do
  [[ $name =~ ^[A-Za-z0-9_-]+$ && -x $out/$name ]] || fail "$name: not a program with a name that OSS-Fuzz takes"
  [[ -f $out/$name.options ]] || fail "$name: no .options"
  grep -q '^\[libfuzzer\]' "$out/$name.options" || fail "$name.options: no [libfuzzer]"
  # Where it runs there is the C library and nothing else; of C++ only what this compiler itself brings.
  others=$(ldd "$out/$name" | awk '{ print $1 }' | grep -Ev '^(linux-vdso|/lib64/ld-linux|lib(c|m|dl|rt|pthread|resolv|gcc_s|stdc\+\+|c\+\+|c\+\+abi|unwind)\.so)' || true)
  [[ -z $others ]] || fail "$name needs" "$others"
  calls=$(objdump -dC "$out/$name" | grep -c 'call.*__asan' || true)
  ((calls >= 1000)) || fail "$name: $calls calls into AddressSanitizer, at least 1000 are asked for"
  mkdir -p "$work/seeds/$name"
  (cd "$work/seeds/$name" && python3 -m zipfile -e "$out/${name}_seed_corpus.zip" .) || fail "$name: no seed corpus"
  seeds=$(find "$work/seeds/$name" -type f | wc -l)
  ((seeds)) || fail "$name: an empty seed corpus"
  run "$name" -runs=0 -rss_limit_mb=2560 -timeout=25 -artifact_prefix="$work/" "$work/seeds/$name"
  for seed in 1 2 3 4; do run "$name" -seed="$seed" -runs=4 -rss_limit_mb=2560 -artifact_prefix="$work/"; done
  edges=$(sed -n 's/^INFO: Loaded .* (\([0-9]*\) inline 8-bit counters).*/\1/p' "$work/run" | head -n 1)
  ((${edges:-0} >= 100)) || fail "$name: ${edges:-no} instrumented edges, at least 100 are asked for"
  printf '%-20s %7d edges %7d ASan calls %4d seeds\n' "$name" "$edges" "$calls" "$seeds"
done
extra=$(find "$out" -mindepth 1 -type f -perm -u+x ! -name '*.*' -printf '%f\n' | grep -Fvxf <(printf '%s\n' "${named[@]}") || true)
[[ -z $extra ]] || fail "programs in \$OUT that CMake does not name: $extra"
