#!/usr/bin/env bash
# Tests of ./flashproof on a small tree of its own, with stand-ins for dpkg-query, apt-get, sudo and nvidia-smi.
# Usage: launcher_test.sh REPOSITORY
# shellcheck disable=SC2016  # the stand-ins expand their own arguments
set -uo pipefail

repository=$1
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
tree="$work/a tree"
failures=0

mkdir -p "$tree/reports" "$work/bin"
cp -r "$repository/flashproof" "$repository/CMakePresets.json" "$tree/"
cp -r "$repository/reports/launcher" "$tree/reports/"
cat >"$tree/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
enable_testing()
add_subdirectory(reports)
CMAKE
cat >"$tree/reports/CMakeLists.txt" <<'CMAKE'
add_executable(flashproof-cli main.cc)
add_test(NAME code COMMAND flashproof-cli code)
set_tests_properties(code PROPERTIES LABELS quick)
CMAKE
program() { # EXIT-CODE: flashproof-cli prints its arguments in angle brackets and exits so
  printf '#include <cstdio>\nint main(int n, char** v) {\n  for (int i = 1; i < n; ++i) std::printf("<%%s>", v[i]);\n  return %s;\n}\n' \
    "$1" >"$tree/reports/main.cc"
}

tool() { # NAME BODY
  printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}
packages_present='for p in "$@"; do echo "$p installed"; done'
tool dpkg-query "$packages_present"
tool nvidia-smi 'exit 9'
# Asks nothing, and notes what it was asked to do.
tool apt-get "echo \"\$*\" >>'$work/apt'; case \"\$*\" in -s*) cat '$work/dry' ;; *install*) touch '$work/done' ;; esac"
tool sudo 'shift; exec "$@"'
touch "$work/dry"
export PATH="$work/bin:$PATH"
unset TERM

run() { # ARGUMENTS...: sets out, err, code
  code=0
  out=$(cd / && "$tree/flashproof" "$@" 2>"$work/err") || code=$?
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

run --help
expect 'help exits 0' is "$code" 0
for command in report test list check truth replay twin bench doctor; do
  expect "help lists $command" has "$out" $'\n'"  $command"
done
run replya
expect 'an unknown command is a usage error' is "$code" 2
expect 'an unknown command names its neighbour' has "$err" 'did you mean: replay?'
run 'list check'
expect 'two commands in one word are none' is "$code" 2
run --frobnicate report
expect 'an unknown option before the command is a usage error' is "$code" 2
run test --frobnicate
expect 'an unknown option of test is a usage error' is "$code" 2
run twin
expect 'twin without a GPU is skipped' is "$code" 4
run report --exec cuda
expect '--exec cuda without a GPU is skipped' is "$code" 4
expect 'nothing was configured so far' test ! -e "$tree/build"

tool dpkg-query 'for p in "$@"; do case $p in libmpfi-dev) ;; *) echo "$p installed" ;; esac; done'
run --no-install list
expect '--no-install with a package missing' is "$code" 3
expect '--no-install names the package' has "$err" libmpfi-dev
expect '--no-install names the command' has "$err" 'apt-get install --no-remove --no-install-recommends -y libmpfi-dev'
expect '--no-install leaves apt alone' test ! -e "$work/apt"
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
run list
expect 'the second call says nothing' is "$err" ''
expect 'the second call does not ask apt' test ! -e "$work/apt"
run report --exec all
expect '--exec all without a GPU runs' is "$code" 0
expect '--exec all without a GPU says so' has "$err" 'no usable GPU'
run test
expect 'passing tests' is "$code" 0
expect 'ends with the summary' has "$out" '100% tests passed'

program 1
run check
expect 'the program'"'"'s exit code is ours' is "$code" 1
run test
expect 'a failed test exits 1' is "$code" 1
expect 'a failed test is in the summary' has "$out" '0% tests passed, 1 tests failed'

mv "$tree" "$work/moved"
tree=$work/moved
program 0
run list
expect 'a moved tree configures again' is "$code" 0
program 'undeclared'
run list
expect 'a broken build exits 3' is "$code" 3
expect 'a broken build shows the error' has "$err" 'was not declared'
expect 'a broken build prints no data' is "$out" ''
program 0
echo 'no_such_function()' >>"$tree/CMakeLists.txt"
run list
expect 'a broken configuration exits 3' is "$code" 3
expect 'a broken configuration shows the error' has "$err" no_such_function

if ((failures)); then
  echo "$failures failed"
  exit 1
fi
echo 'all passed'
