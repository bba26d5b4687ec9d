#!/usr/bin/env bash
# compute-sanitizer over every forward kernel on small problems, one line a tool: gpu_sanitize.sh GPU_SANITIZE [KERNEL-PREFIX [SEEDS]]
# Exit: 0 all clean, 1 a finding, 4 no compute-sanitizer or no GPU.
set -uo pipefail
program=${1:?usage: gpu_sanitize.sh GPU_SANITIZE [KERNEL-PREFIX [SEEDS]]}
prefix=${2-}
seeds=${3-1}
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
if [[ ! -x $sanitizer ]]; then echo 'sanitize: no compute-sanitizer' >&2 && exit 4; fi
log=$(mktemp)
trap 'rm -f -- "$log"' EXIT
worst=0
for tool in memcheck racecheck initcheck synccheck; do
  status=0
  "$sanitizer" --tool "$tool" --error-exitcode 9 "$program" "$prefix" "$seeds" >"$log" 2>&1 || status=$?
  if ((status == 4)); then tail -n 3 "$log" >&2 && exit 4; fi
  printf '%-10s %s; %s; exit %d\n' "$tool" "$(grep '^launched problems' "$log" || echo 'did not end')" \
    "$(grep -E '(ERROR|RACECHECK) SUMMARY' "$log" | sed 's/^=* *//' || true)" "$status"
  if ((status)); then
    grep -E '^=+' "$log" | head -n 40
    worst=1
  fi
done
exit "$worst"
