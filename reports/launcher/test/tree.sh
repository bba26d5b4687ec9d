# shellcheck shell=bash
# A small tree with ./flashproof, and stand-ins for dpkg-query, apt-get, sudo and nvidia-smi. Sourced by the launcher's tests, with the
# repository as $1. Sets tree, work, repository and failures.
# shellcheck disable=SC2016  # the stand-ins expand their own arguments
repository=$1
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
tree="$work/a tree"
failures=0
unset CUDA_PATH CUDA_HOME FLASHPROOF_CUDA_ARCHITECTURES

mkdir -p "$tree/reports" "$work/bin" "$work/here" # the folder it is called from
cp -r "$repository/flashproof" "$repository/CMakePresets.json" "$tree/"
cp -r "$repository/reports/launcher" "$tree/reports/"
mkdir -p "$tree/fuzz/campaign"
{ # of the campaign's script what the launcher reads and calls
  grep '^TARGETS = ' "$repository/fuzz/campaign/campaign.py"
  cat <<'PYTHON'
import sys
if "--wrong" in sys.argv:
    print("flashproof: campaign: wrong", file=sys.stderr)
    sys.exit(2)
if "--check" not in sys.argv:
    print(" ".join(sys.argv[1:]))
PYTHON
} >"$tree/fuzz/campaign/campaign.py"
mkdir -p "$tree/kernels/softmax" # one kernel
cp "$repository/kernels/softmax/safe.cu" "$tree/kernels/softmax/"
mkdir -p "$tree/reference/system" # the table of options
cp "$repository/reference/system/option_rows.cc" "$tree/reference/system/"
cp "$repository/COMMANDS.md" "$tree/" # the options of commands
cat >"$tree/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(flashproof VERSION 4.5.6 LANGUAGES CXX)
if(FLASHPROOF_TESTS)
  enable_testing()
endif()
add_subdirectory(reports)
CMAKE
cat >"$tree/reports/CMakeLists.txt" <<'CMAKE'
add_executable(flashproof-cli main.cc)
if(FLASHPROOF_TESTS)
  add_custom_target(benchmarks COMMAND ${CMAKE_COMMAND} -E touch ${PROJECT_BINARY_DIR}/benchmarks-built)
  add_custom_target(tests ALL COMMAND ${CMAKE_COMMAND} -E touch ${PROJECT_BINARY_DIR}/tests-built)
endif()
CMAKE
program() { # EXIT-CODE: flashproof-cli prints its arguments in angle brackets; with --check it says what to build, or refuses --wrong
  cat >"$tree/reports/main.cc" <<CODE
#include <cstdio>
#include <string_view>
int main(int n, char** v) {
  if (n > 2 && std::string_view(v[2]) == "--check") {
    for (int i = 3; i < n; ++i) if (std::string_view(v[i]) == "--wrong") return std::fputs("wrong", stderr), 2;
    if (n < 5) std::puts(std::string_view(v[1]) == "test" ? "all" : "benchmarks");
    return 0;
  }
  for (int i = 1; i < n; ++i) std::printf("<%s>", v[i]);
  return $1;
}
CODE
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

# shellcheck source=reports/launcher/test/expect.sh
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/expect.sh"
finish() { # the verdict
  expect 'nothing is left in the folder it is called from' is "$(ls -A "$work/here")" ''
  if ((failures)); then
    echo "$failures failed"
    exit 1
  fi
  echo 'all passed'
}
