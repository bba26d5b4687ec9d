#!/usr/bin/env bash
# Tests of compare REVISION REVISION: the real program in a small repository of its own, whose revisions have stand-ins for ./flashproof.
# Those note how they were called, and copy a report that was made before.
# Usage: revisions_test.sh REPOSITORY FLASHPROOF_CLI
set -uo pipefail

repository=$1 cli=$2
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
tree="$work/a tree"
failures=0
unset FLASHPROOF_REVISION GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b

# A checkout with a build: the program finds both by the cache above it.
program=$tree/build/cpu/reports/flashproof-cli
mkdir -p "${program%/*}" "$work/bin"
ln -- "$cli" "$program" 2>/dev/null || cp -- "$cli" "$program"
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$tree" >"$tree/build/cpu/CMakeCache.txt"
printf 'build/\nout/\n' >"$tree/.gitignore"
for name in first second third; do
  FLASHPROOF_REVISION=$name "$cli" report --quick --kernel softmax.safe.hardened --family normal --format f32 --out "$work/$name" >/dev/null 2>&1
done

launcher() { # TEXT EXIT-CODE: the name of its report; "none": it writes none
  cat >"$tree/flashproof" <<CODE
#!/bin/sh
tree=\$(dirname -- "\$0")
case "\$*" in
*'list kernels'*)
  echo "built [$1]" >>"$work/calls"
  if [ -d "$work/objects/$1" ]; then
    rm -rf -- "\$tree/build/cpu/kernels" && mkdir -p "\$tree/build/cpu/reports" && cp -r -- "$work/objects/$1/." "\$tree/build/cpu/"
    [ -e "\$tree/build/cpu/reports/flashproof-cli" ] || ln -s -- "$cli" "\$tree/build/cpu/reports/flashproof-cli"
  fi
  [ $2 = 3 ] && exit 3
  exit 0
  ;;
esac
echo "[$1] \$* (\${GIT_DIR-no GIT_DIR}, \${CCACHE_BASEDIR##*/}, \$(ls "\$tree" | tr '\n' ' '))" >>"$work/calls"
for out; do :; done
if [ $1 != none ]; then cp "$work/$1/report.json" "\$out/"; fi
exit $2
CODE
  chmod +x "$tree/flashproof"
}
tool() { # NAME BODY
  printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}
export PATH="$work/bin:$PATH"

commit() { git -C "$tree" add -A && git -C "$tree" commit --quiet -m "$1"; }
# shellcheck source=reports/launcher/test/expect.sh
source "$repository/reports/launcher/test/expect.sh"
run() { # ARGUMENTS...: sets out, err, code, calls
  code=0
  rm -f "$work/calls"
  out=$(cd "$work" && "$program" "$@" 2>"$work/err") || code=$?
  err=$(<"$work/err")
  calls=$(cat "$work/calls" 2>/dev/null)
}

launcher first 0
echo a >"$tree/a_file"
git -C "$tree" init --quiet -b main
commit first
first=$(git -C "$tree" rev-parse HEAD)
launcher second 1
commit second
second=$(git -C "$tree" rev-parse HEAD)
checkouts() { ls -d "$tree/build/compare" 2>/dev/null; }

run compare main nowhere
expect 'an unknown revision is a usage error' is "$code" 2
expect 'it says what it could have been' has "$err" "\"nowhere\": no report.json, no kernel's id, and no git revision"
run compare main x.json
expect 'a revision and a report are no pair' is "$code" 2
expect 'that is said' has "$err" 'must be two of a kind'
run compare main softmax.safe.hardened
expect 'nor are a revision and a kernel' has "$err" 'must be two of a kind'
run compare main main --case softmax:normal:1
expect '--case is for kernels' is "$code" 2
run --no-build compare main main --measure 2
expect '--measure builds' has "$err" 'which --no-build forbids'
for wrong in '--measure 1' '--measure 201' --seed '--seed x' '--frobnicate' '--benchmark-filter'; do
  read -ra words <<<"$wrong"
  run compare main main "${words[@]}"
  expect "$wrong is a usage error" is "$code" 2
  expect "$wrong is named" has "$err" "${words[0]}"
done
run compare $'--upload-pack=x\e' main
expect 'a revision is no option of git' is "$code" 2
echo 'wrong' >"$work/wrong.toml"
run compare main~1 main --gate wrong.toml
expect 'a wrong policy is a usage error' is "$code" 2
expect 'all that shows before any checkout' is "$(checkouts)" ''

printf '[[rule]]\nname = "exact"\nmax_ratio = 0\n' >"$work/policy.toml"
run compare main~1 main --kernel 'softmax.*' --seed 7 --gate policy.toml --quick --json j.json
expect 'a gate that fails exits 1' is "$code" 1
expect 'stdout has the comparison, which names the revisions' has "$out" $'base       first (seed 0, quick)\nhead       second (seed 0, quick)'
expect 'both revisions report with the same options' has "$calls" "[first] report --kernel=softmax.* --quick --seed=7 --out $tree/build/compare/$first/build/compare-report"
expect 'a report with findings is compared, too' has "$calls" "[second] report --kernel=softmax.* --quick --seed=7 --out $tree/build/compare/$second/build/compare-report"
expect 'other options are the comparison'"'"'s' has "$out" 'gate       FAILS'
expect 'and --json' test -s "$work/j.json"
expect 'progress is on stderr' has "$err" "flashproof: HEAD main ($second): building"
expect 'the checkout is whole' is "$(git -C "$tree/build/compare/$first" status --porcelain)" ''
expect 'objects are shared' has "$calls" "(no GIT_DIR, $first, "

run --portable --no-install compare main~1 main
expect 'the options of the launcher are handed on' has "$calls" "[first] --portable --no-install report --out "

# As a hook calls it: the caller's index, with what is staged there, stays as it is.
echo staged >"$tree/staged.txt"
git -C "$tree" add staged.txt
staged=$(git -C "$tree" ls-files --stage)
export GIT_DIR="$tree/.git" GIT_INDEX_FILE="$tree/.git/index" GIT_WORK_TREE="$tree" GIT_PREFIX=reports/
run compare main~1 main
unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE GIT_PREFIX
expect 'in a hook it compares' is "$code" 0
expect 'in a hook both checkouts are what they are elsewhere' has "$calls" "[first] report --out $tree/build/compare/$first/build/compare-report (no GIT_DIR, $first, a_file"
expect 'the index of the caller is left alone' is "$(git -C "$tree" ls-files --stage)" "$staged"
git -C "$tree" rm --quiet --force staged.txt

echo 'half a file' >"$tree/build/compare/$first/flashproof"
rm "$tree/build/compare/$first/a_file"
run compare "$first" .
expect 'a checkout that an earlier call left half-done is made whole' is "$code" 0
expect 'its files are there' has "$calls" "[first] report --out $tree/build/compare/$first/build/compare-report (no GIT_DIR, $first, a_file"
expect 'the working tree is a side' has "$calls" "[second] report --out $tree/build/compare/worktree"
launcher third 4
run compare HEAD WORKTREE
expect 'changes that are not committed are built' has "$calls" "[third] report --out $tree/build/compare/worktree"
expect 'a report that decided too little is compared, too' is "$code" 0
expect 'and named' has "$out" 'head       third'
expect 'the other side is without them' has "$calls" "[second] report --out $tree/build/compare/$second/build/compare-report"
launcher second 1
run compare main main
expect 'one side may be both' is "$code" 0
expect 'and reports twice' is "$(grep -c '^\[second\]' <<<"$calls")" 2

# What both sides compile alike is not run.
# shellcheck disable=SC2016  # for the tool's shell
tool ninja 'cd "$2" && find kernels reference -name "*.o" 2>/dev/null'
objects() { # NAME KERNELS SHARED: what the softmax kernels' objects, and those of the oracle, hold
  mkdir -p "$work/objects/$1/kernels/cpu" "$work/objects/$1/kernels/Unity" "$work/objects/$1/kernels/broken/x" "$work/objects/$1/reference"
  echo same >"$work/objects/$1/kernels/cpu/softmax_safe.cc.o"
  echo "$2" >"$work/objects/$1/kernels/Unity/unity_0_cxx.cxx.o" # several sources compiled as one
  echo "#include \"$work/kernels/cpu/softmax_online_chunk.cc\"" >"$work/objects/$1/kernels/Unity/unity_0_cxx.cxx"
  echo "$RANDOM $1" >"$work/objects/$1/kernels/broken/x/a_fault.cc.o"
  echo "$3" >"$work/objects/$1/reference/oracle.cc.o"
}
objects first old same
objects second new same
run compare main~1 main
expect 'a kernel that changed is compared' is "$code" 0
expect 'it and its like, and no other' has "$calls" "[first] report --kernel=softmax.online_chunk.hardened --kernel=softmax.online_chunk.published --out $tree"
expect 'on both sides' has "$calls" '[second] report --kernel=softmax.online_chunk.hardened'
expect 'that is said' has "$out" 'compiled differently; the'
run compare main~1 main --kernel 'softmax.*'
expect 'kernels that were asked for are run, changed or not' has "$calls" "[first] report --kernel=softmax.* --out"
run compare main~1 main --gate policy.toml
expect 'the limits of a gate are of every kernel' has "$calls" '[first] report --out'
objects second old same
run compare main~1 main
expect 'two programs of the same objects are the same' is "$code" 0
expect 'nothing is run' lacks "$calls" report
expect 'that is said, too' has "$out" 'SAME       the two programs compute the same'
run compare main~1 main --json j.json --markdown j.md
expect 'and written' test -s "$work/j.json" -a -s "$work/j.md"
objects second old other
run compare main~1 main
expect 'where shared code differs every kernel is run' has "$calls" '[second] report --out'
objects second new same
echo '#include "/elsewhere/registry.cc"' >>"$work/objects/second/kernels/Unity/unity_0_cxx.cxx"
run compare main~1 main
expect 'where a kernel is compiled with shared code every kernel is run' has "$calls" '[second] report --out'
objects second new same
rm "$work/objects/second/kernels/cpu/softmax_safe.cc.o"
run compare main~1 main
expect 'and where the programs are linked of other files' has "$calls" '[second] report --out'
rm "$work/bin/ninja"
rm -rf -- "$work/objects" "$tree/build/compare"

# A benchmark that notes who ran; cmake builds it.
cat >"$work/benchmark" <<BENCHMARK
#!/bin/sh
for a; do case \$a in --benchmark_out=*) out=\${a#*=} ;; esac; done
echo "ran \${out##*/} \$1" >>"$work/calls"
echo '{"context": {"num_cpus": 2, "caches": []}, "benchmarks": [{"name": "a", "run_name": "a", "run_type": "iteration",
  "repetitions": 1, "repetition_index": 0, "iterations": 9, "real_time": 10, "cpu_time": 10, "time_unit": "us"}]}' >"\$out"
BENCHMARK
chmod +x "$work/benchmark"
tool cmake "case \$1 in --build) mkdir -p \"\$2/benchmarks\" && cp '$work/benchmark' \"\$2/benchmarks/kernels_benchmark\" ;; esac"
run compare main~1 main --measure 3 --benchmark-filter 'b.*'
expect '--measure compares' is "$code" 0
expect 'every round runs both, the first place changing' is "$(sed -n 's/^ran //p' <<<"$calls" | tr '\n' ' ')" \
  '0-1.json --benchmark_filter=b.* 1-1.json --benchmark_filter=b.* 1-2.json --benchmark_filter=b.* 0-2.json --benchmark_filter=b.* 0-3.json --benchmark_filter=b.* 1-3.json --benchmark_filter=b.* '
expect 'the results are compared' has "$out" 'speed      no verdict on 1 benchmark'
tool cmake 'echo no such target >&2; exit 1'
run compare main~1 main --measure 3
expect 'a benchmark that does not build is exit 3' is "$code" 3
expect 'it says where to read why' has "$err" "kernels_benchmark does not build in $tree/build/compare/$first; see "
rm "$work/bin/cmake"

launcher none 1
commit fourth
run compare main~1 main
expect 'a revision that ran nothing has no comparison' is "$code" 1
expect 'it is named' has "$err" 'HEAD "main": no case was executed'
launcher none 4
run compare main~1 .
expect 'one that was skipped neither' is "$code" 4
launcher none 3
commit fifth
run compare main~2 main
expect 'a revision that does not build is exit 3' is "$code" 3
expect 'in one line behind its own' has "$err" $'\n''flashproof: HEAD "main": its build ended with exit code 3'
launcher none 2
run compare main~2 .
expect 'a revision that does not know an option is a usage error' is "$code" 2
rm "$tree/flashproof"
commit sixth
run compare "$second" main
expect 'what is no revision of flashproof is a usage error' is "$code" 2
expect 'and is named' has "$err" 'HEAD "main" has no ./flashproof'

# A call that is ended ends what it started, and leaves no checkout that looks whole.
git -C "$tree" checkout --quiet "$first"
printf '#!/bin/sh\necho started >"%s/calls"\nexec sleep 60\n' "$work" >"$tree/flashproof"
rm -f "$work/calls"
"$program" compare . . >/dev/null 2>"$work/err" &
pid=$!
for _ in {1..100}; do [[ -e $work/calls ]] || sleep 0.1; done
start=$SECONDS
kill -TERM "$pid"
wait "$pid"
code=$? err=$(<"$work/err")
expect 'an interruption is exit 3' is "$code" 3
expect 'and said' has "$err" interrupted
expect 'and is not waited for' test $((SECONDS - start)) -lt 30
git -C "$tree" checkout --quiet --force "$first"

# An interrupted checkout: git fails half-way, as it does on a full disk.
tool git "case \"\$*\" in *'worktree add'*) mkdir -p \"$tree/build/compare/$first/reports\"; exit 1 ;; esac; exec $(command -v git) \"\$@\""
rm -rf -- "$tree/build/compare"
run compare "$first" "$second"
expect 'a checkout that fails is exit 3' is "$code" 3
expect 'and leaves nothing' is "$(ls "$tree/build/compare")" ''

if ((failures)); then
  echo "$failures failed"
  exit 1
fi
echo 'all passed'
