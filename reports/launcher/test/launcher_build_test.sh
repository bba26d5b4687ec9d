#!/usr/bin/env bash
# Tests of ./flashproof on a small tree of its own, with stand-ins for dpkg-query, apt-get, sudo and nvidia-smi: a build that waits, is moved, breaks, is stopped or takes long.
# Usage: launcher_build_test.sh REPOSITORY
# shellcheck disable=SC2016  # the stand-ins expand their own arguments
set -uo pipefail
# shellcheck source=reports/launcher/test/tree.sh
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/tree.sh"

program 0
run list
expect 'installs and builds' is "$code" 0

exec 8>"$tree/build/.lock"
flock 8
(sleep 2 && exec 8>&-) & # holds the lock for two seconds after ours is closed
exec 8>&-
run list
expect 'a call that waits for another one goes on' is "$code" 0
expect 'a call that waits for another one says so' has "$err" 'waiting: another call'
wait

mv "$tree" "$work/moved"
tree=$work/moved
program 0
run list
expect 'a moved tree configures again' is "$code" 0
program 'undeclared'
run list
expect 'a broken build exits 3' is "$code" 3
expect 'a broken build shows the error' has "$err" 'was not declared'
program "$(printf 'undeclared%d;' {1..3000})"
run list
expect 'a broken build of many errors exits 3, too' is "$code" 3
expect 'a broken build prints no data' is "$out" ''
expect 'and shows no more than a screen of them' test "$(wc -l <<<"$err")" -lt 60

# A build that is stopped has not failed; one that takes long says so.
cp "$tree/CMakeLists.txt" "$work/kept"
printf 'trap "sleep 0.7; exit 1" HUP INT TERM\ntouch "$1"\nsleep 60 & wait\n' >"$work/slow.sh" # ends, but not at once
printf 'add_custom_target(slow COMMAND sh "%s" "%s")\nadd_dependencies(flashproof-cli slow)\n' "$work/slow.sh" "$work/slow" >>"$tree/CMakeLists.txt"
program 0
stopped() { # SIGNAL TARGET: of - before it, the group
  code=0
  rm -f "$work/slow"
  set -m # a group of its own, as of a terminal's Ctrl-C
  (cd -- "$work/here" && exec "$tree/flashproof" list >"$work/out" 2>"$work/err") &
  set +m
  for ((i = 0; i < 300; ++i)); do
    if [[ -e $work/slow ]]; then break; fi
    sleep 0.1
  done
  kill "-$1" -- "$2$!"
  wait $! || code=$?
  out=$(<"$work/out") err=$(<"$work/err")
  expect 'an interrupted build says what it is' has "$err" 'flashproof: interrupted'
  expect 'which is no failed build' lacks "$err" failed
  expect 'and is all' is "$(grep -cv '^flashproof: ' "$work/err")" 0
  expect 'nothing of it goes on' flock -n "$tree/build/.lock" true
}
stopped INT -
expect 'an interrupted build exits 130' is "$code" 130
stopped TERM ''
expect 'one that is ended exits 143' is "$code" 143
cp "$work/kept" "$tree/CMakeLists.txt"
run list
expect 'the same command goes on' is "$code" 0
err=$({ printf '[1/9] a\n' && sleep 3.5 && printf '[2/9] b\n[9/9] c\n'; } |
  PYTHONPATH=$tree/reports/launcher python3 -B -c 'import build, io; build.show_progress(0, io.BytesIO(), "cpu", 1)' 2>&1)
expect 'a step that takes long is told of again' test "$(grep -c 'step 1 of 9, [0-9]* s$' <<<"$err")" -ge 3
expect 'and how far it is at last' is "${err##*$'\n'}" "$(grep 'step 9 of 9' <<<"$err")"

echo 'no_such_function()' >>"$tree/CMakeLists.txt"
run list
expect 'a broken configuration exits 3' is "$code" 3
expect 'a broken configuration shows the error' has "$err" no_such_function

finish
