# shellcheck shell=bash
# Steps of a check, one line each in a summary. Sourced by run and bare, which set logs. Each step's output goes to LOGS/STEP.log; its
# end is shown when the step fails, and once more at the very end, where a log that was cut still has it.
# shellcheck disable=SC2154  # logs: set there
summary=()
failures=()

record() { # STEP STATUS SECONDS
  local word=passed
  if (($2)); then word=FAILED && failures+=("$1"); fi
  summary+=("$(printf '%-9s %-7s %5d s' "$1" "$word" "$3")")
  echo "== $1 $word"
}

step() { # STEP COMMAND...: quiet unless it fails; returns what COMMAND does
  local name=$1 start=$SECONDS status=0
  shift
  echo "== $name"
  "$@" >"$logs/$name.log" 2>&1 || status=$?
  if ((status)); then tail -n 80 "$logs/$name.log"; fi
  record "$name" "$status" $((SECONDS - start))
  return "$status"
}

shown() { # STEP COMMAND...: a step whose output is shown as it comes
  local name=$1 start=$SECONDS status=0
  shift
  echo "== $name"
  "$@" 2>&1 | tee "$logs/$name.log" || status=$?
  record "$name" "$status" $((SECONDS - start))
  return "$status"
}

skipped() { # STEP WHY
  summary+=("$(printf '%-9s SKIPPED (%s)' "$1" "$2")")
  echo "== $1 SKIPPED: $2"
}

finish() { # the failures again, the summary; exits 1 if a step failed
  local name
  for name in "${failures[@]}"; do
    printf '\n== the end of %s\n' "$name"
    grep -aE '\*\*\*(Failed|Timeout|Exception)|^FAILED|: error: |warning: .*\[' "$logs/$name.log" | head -n 30
    tail -n 40 "$logs/$name.log"
  done
  printf '\n'
  printf '%s\n' "${summary[@]}"
  exit $((${#failures[@]} > 0))
}
