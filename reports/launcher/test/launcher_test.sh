#!/usr/bin/env bash
# Tests of ./flashproof on a small tree of its own, with stand-ins for dpkg-query, apt-get, sudo and nvidia-smi: arguments, packages, what is built and run.
# Usage: launcher_test.sh REPOSITORY
# shellcheck disable=SC2016  # the stand-ins expand their own arguments
set -uo pipefail
# shellcheck source=reports/launcher/test/tree.sh
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/tree.sh"

run --help
expect 'help exits 0' is "$code" 0
for command in report render merge compare test properties list check explain export truth replay attack ledger twin certify probe traffic experiment bench fuzz campaign doctor setup; do
  expect "help lists $command" has "$out" $'\n'"  $command"
done
expect 'and is what no argument shows' is "$(cd / && "$tree/flashproof" 2>&1 >/dev/null)" "$out"$'\nflashproof: no command; a first one is ./flashproof report'
run
expect 'no command is a usage error' is "$code" 2
run help
expect 'help is a command' is "$code" 0
for command in check list replay; do # of these that of libraries knows its own
  built=$tree/build/cpu/reports/plugin/flashproof-plugin
  mkdir -p "${built%/*}"
  printf '#!/bin/sh\necho plugin: "$@"\n' >"$built"
  chmod +x "$built"
  run --no-install "$command" --help
  expect "$command --help is that of a program that has it" is "$out" "plugin: $command --help"
  rm -r "$tree/build"
done
run report --help
expect 'before a build that is what is known of a command' has "$out" $'\n  replay'
code=0
"$tree/flashproof" report --help >/dev/full 2>"$work/err" || code=$?
expect 'help that cannot be written is exit 3' is "$code" 3
expect 'and nothing is built in its place' has "$(<"$work/err")" 'the help cannot be written'
for folder in '' "$work/nowhere"; do # whatever the caller's git is about
  out=$(cd / && GIT_DIR=$folder FLASHPROOF_REVISION='' "$tree/flashproof" --version 2>"$work/err") || code=$?
  expect 'the version needs no build and no git checkout' is "$out" 'flashproof 4.5.6 (unknown)'
done
expect 'nor says it more' is "$(<"$work/err")" ''
out=$(FLASHPROOF_REVISION=$'r1\e[2J\nx' "$tree/flashproof" --version)
expect 'a revision that the environment names cannot drive a terminal' is "$out" 'flashproof 4.5.6 (r1?[2J?x)'
if command -v git >/dev/null; then
  git() { command git -C "$tree" -c user.name=x -c user.email=x "$@"; }
  git init -q && git add flashproof CMakeLists.txt && git commit -qm x && git tag -am x v1
  revision=$(git rev-parse HEAD)
  run --version
  expect 'the version names the commit' is "$out" "flashproof 4.5.6 ($revision)"
  echo >>"$tree/CMakeLists.txt"
  run --no-build --version
  expect 'and that files have changed' is "$out" "flashproof 4.5.6 ($revision-dirty)"
  rm -rf "$tree/.git"
  unset -f git
fi
code=0
"$tree/flashproof" --version >/dev/full 2>"$work/err" || code=$?
expect 'a version that cannot be written is exit 3' is "$code" 3
run --version --help
expect 'help and version are help' has "$out" $'\n  replay'
run replya
expect 'an unknown command is a usage error' is "$code" 2
expect 'and named, with what is near' has "$err" "flashproof: unknown command 'replya'; near: report replay; the commands are: "
expect 'and gets the names of all' has "$err" ' replay explain '
run --no-biuld check
expect 'an option before the command gets the three, too' is "$err" \
  "flashproof: unknown option '--no-biuld' before the command; there are: --no-install --no-build --portable"
run $'\e]0;title\a\x9b'
expect 'a raw control character is a usage error' is "$code" 2
expect 'control characters are not echoed' has "$err" "unknown command '?]0;title??'"
run 'list check'
expect 'two commands in one word are none' is "$code" 2
run --frobnicate report
expect 'an unknown option before the command is a usage error' is "$code" 2
for command in doctor setup; do
  run "$command" --exec cuda
  expect "$command has no --exec" is "$code" 2
done
run bench --exec cuda
expect 'bench --exec cuda without a GPU is skipped' is "$code" 4
for command in bench fuzz campaign; do
  run "$command" --exec all
  expect "$command --exec all is none of its two" has "$err" "--exec 'all': legal cpu, cuda"
done
run fuzz softmax --exec cuda
expect 'fuzz --exec cuda without a GPU is skipped' is "$code" 4
run --portable fuzz softmax
expect 'fuzz has no portable build' is "$code" 2
for command in report compare check replay certify; do
  run "$command" --exec
  expect "$command --exec needs a value" is "$code" 2
  expect "$command --exec says so" has "$err" '--exec needs a value'
  run "$command" --exec gpu
  expect "$command --exec takes three values" is "$code" 2
  expect "$command --exec names them" has "$err" "legal cpu, cuda, $([[ $command == certify ]] && echo auto || echo all)"
done
run certify --exec all
expect 'certify --exec all is none of them' is "$code" 2
for command in explain export; do
  run "$command" --exec all
  expect "$command --exec all is none of its two" has "$err" "--exec 'all': legal cpu, cuda"
done
run report --exec auto
expect 'report --exec auto is none of them' is "$code" 2
while read -r word range line; do # what the table of options says, before a build
  # shellcheck disable=SC2086  # words
  run $line
  expect "$line is a usage error" is "$code" 2
  expect "$line says what is legal" is "$err" "flashproof: ${word/_/ } must be $range"
done <<'LINES'
--seconds_'-1': 1..1e8 fuzz --seconds -1
--seconds_'0': 1..1e8 fuzz softmax --seconds=0
--seconds_'1e9': 1..1e8 fuzz softmax --seconds 1e9
--seconds_'nan': 1..1e8 fuzz softmax --seconds nan
--jobs_'0': 1..4096 report --jobs 0
--jobs_'5000': 1..4096 check softmax.safe.hardened --jobs 5000
--jobs_'2.5': 1..4096 compare --jobs 2.5
--seed_'-1': 0.. report --seed -1
--cases_'0': 1..1000000 properties --cases 0
--seconds_'0': 0.1..3600 replay softmax:normal:0:format=f32 --plugin /bin/sh --seconds 0
--seconds_'1e7': 0..1e6 attack --seconds 1e7
LINES
expect 'and nothing was built for one' is "$(ls "$tree/build" 2>/dev/null)" ''
for line in 'fuzz --seconds' 'properties --out' 'attack --jobs'; do
  # shellcheck disable=SC2086
  run $line
  expect "$line is a usage error" is "$code" 2
  expect "$line needs a value" has "$err" "flashproof: ${line#* } needs a value: "
done
run setup
expect 'setup needs to know what' is "$code" 2
expect 'setup says what it takes' has "$err" 'setup takes --cuda'
tool nvcc 'echo "Cuda compilation tools, release 13.0, V13.0.0"'
run setup --cuda
expect 'setup --cuda leaves a toolkit alone' is "$code" 0
expect 'setup --cuda names it' has "$err" "nvcc is there: $work/bin/nvcc"
rm "$work/bin/nvcc"
if [[ ! -x /usr/local/cuda/bin/nvcc && -z $(command -v nvcc) ]]; then # else the next ones have nothing to install
  tool python3 "case \"\$*\" in *'pip '*--version) exit 0 ;; *' pip '*) echo 'no such wheel'; exit 1 ;; esac; exec $(command -v python3) \"\$@\""
  run setup --cuda
  expect 'setup --cuda without the wheels exits 3' is "$code" 3
  expect 'setup --cuda shows what pip said' has "$err" 'no such wheel'
  expect 'setup --cuda leaves nothing half done' is "$(find "$tree" -name '.cuda*')" ''
  rm -r "$work/bin/python3" "$tree/build"
fi
run doctor
expect 'doctor needs no build' is "$code" 0
expect 'doctor counts packages' has "$out" 'required ones installed'
run twin
expect 'twin without a GPU is skipped' is "$code" 4
run probe
expect 'probe without a GPU is skipped' is "$code" 4
run report --exec cuda
expect '--exec cuda without a GPU is skipped' is "$code" 4
# A file that is not there is said before anything is built, and before another call's build is waited for.
mkdir -p "$tree/build"
exec 8>"$tree/build/.lock"
flock 8
for command in 'check ./my.so' 'check --quick ./my' 'check my.c' 'check --seed 3 --quik my.so' 'list ./my.so' 'suggest ./my.so' \
  'replay --plugin ./my.so x' 'list ./my.ptx' 'run ./my.ptx --arg 1' 'check ./my.ptx --map my.toml' 'replay --plugin my.ptx x' \
  'list ./my.cu' 'run my.cu' 'check my.cu --map my.toml' 'suggest ./my.cu --map my.toml' 'replay --map my.toml --plugin my.cu x'; do
  read -ra words <<<"$command"
  run "${words[@]}"
  expect "$command without the file is a usage error" is "$code" 2
  expect "$command says so in one line" lacks "$err" $'\n'
  expect "$command names the file" has "$err" ': no such file, legal: a '
done
mkdir "$work/here/here.d"
run check ./here.d/
expect 'a folder is none' is "$err" "flashproof: plugin './here.d/': is a folder, not a file, legal: a shared library (.so)"
expect 'and a usage error' is "$code" 2
for name in my.so my.c; do
  echo 'int main;' >"$work/here/$name"
  run check "./$name"
  expect 'nor is a library built for that is none' is "$code" 2
  expect 'and the guide has how one is made' has "$err" "plugin './$name': no shared library; how one is made: reports/guides/plugin.md"
done
exec 8>&-
rm -r "$tree/build" "$work/here/here.d" "$work/here/"my.{so,c}
run check $'./\e[2J\n.so'
expect 'its name cannot drive a terminal' is "$err" "flashproof: plugin './?[2J?.so': no such file, legal: a shared library (.so)"

printf '\x7fELF' | tee "$work/here/my.so" "$work/here/my.c" >"$work/here/my.ptx"
for command in report render merge compare 'compare a.json b.json' test properties list 'list ./my.so' 'list ./my.ptx' 'run ./my.ptx' check 'check ./my.so' 'suggest ./my.so' explain export truth \
  replay 'replay --plugin ./my.so x' attack ledger traffic experiment bench fuzz 'fuzz softmax' 'fuzz --status'; do
  read -ra words <<<"$command"
  run --no-build "${words[@]}"
  expect "--no-build $command without a build" is "$code" 3
  expect "--no-build $command says what is missing" has "$err" "flashproof: --no-build: $tree/build/"
  expect "--no-build $command says it in one line" lacks "$err" $'\n'
done
for command in 'check ./my.so' 'check --quick ./my.so' 'check --seed 3 ./my.so' 'list --declare a/b my.so' 'replay --plugin my.so x' \
  'check --map ./my.c my.ptx' 'list my.ptx --map my.c'; do
  read -ra words <<<"$command"
  run --no-build "${words[@]}"
  expect "$command is for the program of libraries" has "$err" reports/plugin/flashproof-plugin
done
flags=$(grep -zoP '\{"\K--[a-z-]+(?=", "",[^}]*check-library)' "$repository/reference/system/option_rows.cc" | tr '\0' '\n')
expect 'the program has flags' has "$flags" --quick
for flag in $flags; do # no value of an option
  run --no-build check "$flag" my.c
  expect "check $flag my.c is for the program of libraries" has "$err" reports/plugin/flashproof-plugin
done
# Nor is a program built for an option that it has not.
for command in 'report --qiuck' 'report --out x --jbos=3' 'fuzz softmax --secnds 3' 'check softmax.safe.published --map x' 'check --quik ./my.so' 'list ./my.so --jobs 2' \
  'replay --plugin ./my.so --quick x' 'suggest --quick ./my.so' 'merge --ot x a b' 'properties --quick' 'truth --ulps f32'; do
  read -ra words <<<"$command"
  run "${words[@]}"
  expect "$command is a usage error" is "$code" 2
  expect "$command names the option" grep -qx "flashproof: unknown option '--[a-z]*'; ${words[0]} has: --[a-z -]*" <<<"$err"
done
while read -r usage; do # each option of each command is one of its
  read -r command _ <<<"$usage"
  [[ $command == run ]] && continue
  mapfile -t options < <(grep -oP -- '--[a-z-]+' <<<"$usage" | sed 's/$/=cpu/')
  run --no-build "$command" "${options[@]}"
  expect "$command has ${options[*]}" lacks "$err" 'unknown option'
done < <(sed -n 's/^| `\([a-z]* [^`]*\)`.*/\1/p' "$repository/COMMANDS.md")
run --no-build bench --benchmark_filter=x
expect 'bench takes those of Google Benchmark' is "$code" 3
run --no-build truth -- --no-option
expect 'nor is an option what follows --' is "$code" 3
for command in 'check softmax.safe.published --profile a/b' 'list kernels' 'replay a/b.safetensors'; do
  read -ra words <<<"$command"
  run --no-build "${words[@]}"
  expect "$command is for the program of kernels" has "$err" reports/flashproof-cli
done
expect 'nothing was configured so far' test ! -e "$tree/build"

tool dpkg-query 'for p in "$@"; do case $p in libmpfi-dev) ;; *) echo "$p installed" ;; esac; done'
run --no-install list
expect '--no-install with a package missing' is "$code" 3
expect '--no-install names the package' has "$err" libmpfi-dev
expect '--no-install names the command' has "$err" 'apt-get install --no-remove --no-install-recommends -y libmpfi-dev'
expect '--no-install leaves apt alone' test ! -e "$work/apt"
tool dpkg-query 'for p in "$@"; do case $p in libllvm19) ;; *) echo "$p installed" ;; esac; done'
run --no-install run ./my.ptx
expect 'run needs LLVM' has "$err" 'apt-get install --no-remove --no-install-recommends -y libllvm19'
run --no-install --no-build list ./my.ptx
expect 'list FILE.ptx does not' lacks "$err" libllvm19
run --no-install check my.ptx --map my.c
expect 'a verdict on a .ptx does' has "$err" libllvm19
mv "$work/here/my.ptx" "$work/here/my.cu"
run --no-build run ./my.cu
expect 'a .cu is for the program of PTX' has "$err" kernels/ptx/flashproof-ptx
run --no-install check my.cu --map my.c
expect 'so is a verdict on a .cu' has "$err" libllvm19
mv "$work/here/my.cu" "$work/here/my.ptx"
run check my.ptx
expect 'nor is there one without a map' is "$code" 2
expect 'which the message names' has "$err" 'flashproof: a .ptx needs --map MY.toml'
rm "$work/here/"my.{so,c,ptx}
tool dpkg-query 'for p in "$@"; do case $p in libmpfi-dev) ;; *) echo "$p installed" ;; esac; done'
run doctor
expect 'doctor fails when a package is missing' is "$code" 3
expect 'doctor names it' has "$err" libmpfi-dev
echo 'Remv libboost1.74-dev [1.74]' >"$work/dry"
run list
expect 'a conflict stops' is "$code" 3
expect 'a conflict names what would go' has "$err" libboost1.74-dev
expect 'a conflict installs nothing' test ! -e "$work/done"
echo 'Inst libmpfi-dev' >"$work/dry"

program 0
run list kernels 'a b' --json
expect 'installs and builds' is "$code" 0
expect 'hands the arguments on, and stdout is data only' is "$out" '<list><kernels><a b><--json>'
expect 'installs with --no-remove' grep -q -- 'install --no-remove --no-install-recommends -y libmpfi-dev$' "$work/apt"
expect 'announces the package' has "$err" libmpfi-dev

tool dpkg-query "$packages_present"
rm -f "$work/apt"
run list --exec cuda
expect 'list hands --exec on' is "$out" '<list><--exec><cuda>'
run --no-install --no-build list
expect 'so are the options before the command' is "$out" '<--no-install><--no-build><list>'
run list --help
expect 'and the help of a command' is "$out" '<list><--help>'
run list
expect 'the second call says nothing' is "$err" ''
expect 'the second call does not ask apt' test ! -e "$work/apt"
run report --exec all
expect '--exec all without a GPU runs' is "$code" 0
expect '--exec all without a GPU says so' has "$err" 'no usable GPU'
tool dpkg-query 'for p in "$@"; do case $p in libgtest-dev | patch) ;; *) echo "$p installed" ;; esac; done'
run --no-install list
expect 'list needs no package of the tests' is "$code" 0
expect 'nor configures them' is "$err" ''
for command in test bench; do
  run --no-install "$command"
  expect "$command needs them" is "$code" 3
  expect "$command names them" has "$err" 'libgtest-dev patch'
done
tool dpkg-query "$packages_present"
run test --wrong
expect 'test has its arguments checked' is "$code" 2
expect 'before it builds' test ! -e "$tree/build/cpu/tests-built"
expect 'the tests are configured when they are asked for' has "$err" 'configuring (preset cpu)'
run test --nightly
expect 'test goes to the program' is "$out" '<test><--nightly>'
expect 'after everything was built' test -e "$tree/build/cpu/tests-built"
run list
expect 'the tests stay configured' is "$err" ''
run bench --wrong x
expect 'bench has its arguments checked' is "$code" 2
run bench --compare x y
expect 'bench builds nothing where it runs nothing' test ! -e "$tree/build/cpu/benchmarks-built"
expect 'bench goes to the program' is "$out" '<bench><--compare><x><y>'
run bench
expect 'bench builds the benchmarks' test -e "$tree/build/cpu/benchmarks-built"
expect 'and runs them' is "$out" '<bench>'

# fuzz and campaign: clang, which no other command asks for, and a driver that prints its arguments.
cat >"$tree/fuzz/CMakeLists.txt" <<'CMAKE'
add_executable(flashproof-fuzz ../reports/main.cc)
set_target_properties(flashproof-fuzz PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
add_custom_target(fuzz_targets DEPENDS flashproof-fuzz)
CMAKE
echo 'add_subdirectory(fuzz)' >>"$tree/CMakeLists.txt"
tool dpkg-query 'for p in "$@"; do case $p in clang-19) ;; *) echo "$p installed" ;; esac; done'
run list
expect 'list needs no clang' lacks "$err" clang
run --no-install fuzz softmax
expect 'fuzz needs clang' is "$code" 3
expect 'fuzz names clang and what for' has "$err" 'the compiler of the fuzz targets'
run --no-build fuzz softmax
expect '--no-build needs a build' is "$code" 3
expect '--no-build says so' has "$err" 'flashproof-fuzz is not there'
run --no-build campaign softmax
expect '--no-build campaign needs a build' is "$code" 3
run fuzz sofmax
expect 'fuzz refuses an unknown target before a build' is "$code" 2
for name in $(sed -n 's/^TARGETS = (\(.*\)).*/\1/p' "$repository/fuzz/campaign/campaign.py" | tr -d '",'); do
  expect "fuzz knows the target $name" has "$err" "$name"
done
run --portable check softmax.saef.hardened
expect 'check refuses an unknown kernel before a build' is "$code" 2
expect 'check names what is near' has "$err" "unknown kernel 'softmax.saef.hardened'; near: softmax.safe.hardened"
run --no-install fuzz --status
expect 'fuzz --status without a build needs it, too' is "$code" 3
run campaign softmax --wrong
expect 'campaign checks its arguments before a build' is "$code" 2
expect 'campaign says what is wrong' is "$err" 'flashproof: campaign: wrong'
run campaign --status 'a b'
expect 'campaign --status needs no build' is "$out" "--flashproof $tree/flashproof --driver $tree/build/fuzz/fuzz/flashproof-fuzz --status a b"
tool dpkg-query "$packages_present"
if command -v clang++-19 >/dev/null; then
  run fuzz softmax --seconds 5 --kernel 'a*'
  expect 'fuzz hands its arguments on' is "$out" '<fuzz><softmax><--seconds><5><--kernel><a*>'
  run fuzz softmax --sanitize
  expect 'fuzz --sanitize has a build of its own' test -x "$tree/build/fuzz-asan/fuzz/flashproof-fuzz"
  expect 'fuzz --sanitize is handed on' is "$out" '<fuzz><softmax><--sanitize>'
  run fuzz --status 'a b'
  expect 'fuzz --status builds nothing' is "$err" ''
  expect 'fuzz --status takes a folder' is "$out" '<fuzz><--status><a b>'
  run campaign softmax --shards 2
  expect 'campaign goes to Slurm after the build' has "$out" ' softmax --shards 2'
fi

# A machine with two kinds of GPU, as nvidia-smi tells it; the small tree needs no real nvcc.
tool nvidia-smi 'case $1 in *=name) echo Some GPU ;; *=compute_cap) cat "$0.cap" ;; esac'
tool nvcc 'exit 0'
architecture() { sed -n 's/^CMAKE_CUDA_ARCHITECTURES:STRING=//p' "$tree/build/cuda/CMakeCache.txt"; }
printf '9.0\n' >"$work/bin/nvidia-smi.cap"
run twin
expect 'twin with a GPU runs' is "$out" '<twin>'
expect 'Hopper is built as 90a' is "$(architecture)" 90a
run twin
expect 'the same GPU configures nothing again' is "$err" ''
printf '8.0\n9.0\n8.0\n' >"$work/bin/nvidia-smi.cap"
run report --exec all
expect 'each kind of GPU counts once' is "$(architecture)" '80;90a'
export FLASHPROOF_CUDA_ARCHITECTURES=86
run replay --exec=cuda
expect 'the environment wins' is "$(architecture)" 86
for wrong in sm_80 '80 90' '80;' native $'80\n' '80;-DX=1'; do
  export FLASHPROOF_CUDA_ARCHITECTURES=$wrong
  run twin
  expect "the architecture '$wrong' is a usage error" is "$code" 2
  expect "the architecture '$wrong' is named" has "$err" FLASHPROOF_CUDA_ARCHITECTURES
done
unset FLASHPROOF_CUDA_ARCHITECTURES
printf '[N/A]\n' >"$work/bin/nvidia-smi.cap"
run twin
expect 'an unknown GPU gets the default' is "$(architecture)" 90a
tool nvidia-smi 'sleep 60'
start=$SECONDS
run doctor
expect 'a driver that hangs does not stop doctor' is "$code" 0
expect 'a driver that hangs costs seconds' test $((SECONDS - start)) -lt 30
expect 'a driver that hangs is no GPU' has "$out" 'gpu: none'
tool nvidia-smi 'exit 9'

program 1
run check
expect 'the program'"'"'s exit code is ours' is "$code" 1
run test
expect 'also after a test' is "$code" 1

finish
