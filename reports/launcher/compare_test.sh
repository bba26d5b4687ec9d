#!/usr/bin/env bash
# Tests of ./flashproof compare REVISION REVISION on a small repository of its own, whose program is a stand-in: `report` writes
# what it was asked and which revision it is, `compare` prints the files that it was given.
# Usage: compare_test.sh REPOSITORY
set -uo pipefail

repository=$1
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
tree="$work/a tree"
failures=0
unset CUDA_PATH CUDA_HOME FLASHPROOF_CUDA_ARCHITECTURES FLASHPROOF_REVISION GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b

mkdir -p "$tree/reports" "$work/bin"
cp -r "$repository/flashproof" "$repository/CMakePresets.json" "$tree/"
cp -r "$repository/reports/launcher" "$tree/reports/"
printf 'build/\nout/\n' >"$tree/.gitignore"
cat >"$tree/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
add_subdirectory(reports)
CMAKE
cat >"$tree/reports/CMakeLists.txt" <<'CMAKE'
add_executable(flashproof-cli main.cc)
add_executable(kernels_benchmark bench.cc)
set_target_properties(kernels_benchmark PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/benchmarks)
CMAKE
cat >"$tree/reports/bench.cc" <<'CODE'
#include <cstdio>
#include <string_view>
int main(int n, char** v) {
  for (int i = 1; i < n; ++i) {
    const std::string_view a = v[i];
    if (a.substr(0, 16) != "--benchmark_out=") continue;
    std::FILE* file = std::fopen(a.substr(16).data(), "w");
    std::fputs("bench\n", file);
    std::fclose(file);
  }
}
CODE
program() { # TEXT REPORT-EXIT-CODE: what `report` writes besides its arguments; no file with exit code 9
  cat >"$tree/reports/main.cc" <<CODE
#include <cstdio>
#include <cstdlib>
#include <string>
int main(int n, char** v) {
  const std::string command = n > 1 ? v[1] : "";
  if (command == "report") {
    const char* revision = std::getenv("FLASHPROOF_REVISION");
    std::string text = "$1 ", out;
    for (int i = 2; i < n; ++i) (std::string(v[i - 1]) == "--out" ? out : text) += std::string(v[i]) + " ";
    out.pop_back();
    if ($2 == 9) return 1;
    std::FILE* file = std::fopen((out + "/report.json").c_str(), "w");
    std::fprintf(file, "%s%s\n", text.c_str(), revision ? revision : "none");
    std::fclose(file);
    return $2;
  }
  bool check = false;
  for (int i = 2; i < n; ++i) check = check || std::string(v[i]) == "--check";
  for (int i = 2; i < n && !check; ++i) {
    char line[300] = "";
    std::FILE* file = std::fopen(v[i], "r");
    if (file && std::fgets(line, sizeof line, file)) std::printf("[%s]", line);
    else std::printf("<%s>", v[i]);
  }
  for (int i = 2; i < n; ++i) if (std::string(v[i]) == "--gate" && std::string(v[i + 1]) == "wrong.toml") return 2;
  for (int i = 2; i < n; ++i) if (std::string(v[i]) == "--gate" && !check) return 1;
}
CODE
}
tool() { # NAME BODY
  printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}
# shellcheck disable=SC2016  # the stand-in's own arguments
tool dpkg-query 'for p in "$@"; do echo "$p installed"; done'
tool nvidia-smi 'exit 9'
export PATH="$work/bin:$PATH"
unset TERM

commit() { git -C "$tree" add -A && git -C "$tree" commit --quiet -m "$1"; }
# shellcheck source=reports/launcher/expect.sh
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/expect.sh"

program first 0
git -C "$tree" init --quiet -b main
commit first
first=$(git -C "$tree" rev-parse HEAD)
program second 1
commit second
second=$(git -C "$tree" rev-parse HEAD)

run compare main nowhere
expect 'an unknown revision is a usage error' is "$code" 2
expect 'it says what it could have been' has "$err" "'nowhere': no report.json, no kernel's id, and no git revision"
run compare main x.json
expect 'a revision and a report are no pair' is "$code" 2
expect 'that is said' has "$err" 'must be two of a kind'
run compare main main --case softmax:normal:1
expect '--case is for kernels' is "$code" 2
run compare main main --measure 1
expect 'one round is no measurement' has "$err" "--measure '1': must be 2..200"
run compare main main --seed
expect 'an option without its value' has "$err" '--seed needs a value'
run compare main~1 main --gate wrong.toml
expect 'a wrong policy is a usage error' is "$code" 2
expect 'a wrong policy shows before any checkout' is "$(ls -d "$tree/build/compare" 2>/dev/null)" ''

run compare main~1 main --kernel 'softmax.*' --seed 7 --gate policy.toml --quick
expect 'a gate that fails exits 1' is "$code" 1
expect 'both revisions report with the same options' has "$out" "[first --kernel softmax.* --seed 7 --quick --out $first"
expect 'a report with findings is compared, too' has "$out" "[second --kernel softmax.* --seed 7 --quick --out $second"
expect 'other options are the comparison'"'"'s' has "$out" '<--gate><policy.toml>'
expect 'the checkout is whole' is "$(git -C "$tree/build/compare/$first" status --porcelain)" ''

# As a hook calls it: the caller's index, with what is staged there, stays as it is.
echo staged >"$tree/staged.txt"
git -C "$tree" add staged.txt
staged=$(git -C "$tree" ls-files --stage)
export GIT_DIR="$tree/.git" GIT_INDEX_FILE="$tree/.git/index" GIT_WORK_TREE="$tree" GIT_PREFIX=reports/
run compare main~1 main
unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE GIT_PREFIX
expect 'in a hook it compares' is "$code" 0
expect 'in a hook both checkouts are what they are elsewhere' has "$out" "[first --out $first"$'\n'
expect 'the index of the caller is left alone' is "$(git -C "$tree" ls-files --stage)" "$staged"
git -C "$tree" rm --quiet --force staged.txt

echo '// half a file' >"$tree/build/compare/$first/reports/main.cc"
rm "$tree/build/compare/$first/CMakeLists.txt"
run compare "$first" .
expect 'a checkout that an earlier call left half-done is made whole' is "$code" 0
expect 'the working tree is a side' has "$out" "[second --out $second"
sed -i 's/second /third /' "$tree/reports/main.cc"
run compare HEAD WORKTREE
expect 'changes that are not committed are built and named' has "$out" "[third --out $second-dirty"
expect 'the other side is without them' has "$out" "[second --out $second"$'\n'
expect 'one side may be both' is "$(cd / && "$tree/flashproof" compare main main 2>/dev/null | grep -c "$second")" 2

run compare main~1 main --measure 3
expect 'every round is a pair of results' is "$(grep -o '<--bench>' <<<"$out" | wc -l)" 3
expect 'the results are there' is "$(grep -o '\[bench' <<<"$out" | wc -l)" 6

program fourth 9
commit fourth
run compare main~1 main
expect 'a revision that ran nothing has no comparison' is "$code" 1
expect 'it is named' has "$err" "HEAD 'main': no case was executed"
program fifth 3
commit fifth
run compare main main~2
expect 'a machine that failed is exit 3' is "$code" 3
echo 'no C++' >"$tree/reports/main.cc"
commit sixth
git -C "$tree" checkout --quiet main~1
run compare main main~3
expect 'a revision that does not build is exit 3' is "$code" 3
git -C "$tree" checkout --quiet main

# An interrupted checkout: git fails half-way, as it does on a full disk.
tool git "case \"\$*\" in *'worktree add'*) mkdir -p \"$tree/build/compare/$(git -C "$tree" rev-parse main~4)/reports\"; exit 1 ;; esac; exec $(command -v git) \"\$@\""
git -C "$tree" checkout --quiet main~3
rm -rf -- "$tree/build/compare"
run compare main~4 main~3
expect 'a checkout that fails is exit 3' is "$code" 3
expect 'and leaves nothing' is "$(ls "$tree/build/compare")" ''

if ((failures)); then
  echo "$failures failed"
  exit 1
fi
echo 'all passed'
