#!/usr/bin/env bash
# traffic_gpu.sh BUILD_DIR OUT.csv [ROWS COLS [FORMAT]]: the memory traffic of every softmax kernel on this GPU, from its
# own counters, for `flashproof traffic --measured OUT.csv`. BUILD_DIR is a CUDA build with the target
# flashproof-traffic-driver. The default, 8192 x 8192 f32, is 256 MiB: more than the caches hold. Every kernel is profiled
# in a process of its own; kernels that refuse the shape are left out. Exit: 2 usage, 3 no ncu or no permission, 4 no GPU.
set -euo pipefail
export LC_ALL=C

complain() { # CODE MESSAGE
  printf 'traffic_gpu: %s\n' "$2" >&2
  exit "$1"
}

if (($# < 2 || $# > 5)); then complain 2 'usage: traffic_gpu.sh BUILD_DIR OUT.csv [ROWS COLS [FORMAT]]'; fi
build=$1 out=$2 rows=${3:-8192} cols=${4:-8192} format=${5:-f32}
if [[ ! $rows =~ ^[1-9][0-9]{0,8}$ || ! $cols =~ ^[1-9][0-9]{0,8}$ ]]; then
  complain 2 "rows '$rows', cols '$cols': whole numbers from 1"
fi
if [[ ! $format =~ ^(f32|f16|bf16)$ ]]; then complain 2 "format '$format': f32, f16 or bf16"; fi
driver=$build/reports/flashproof-traffic-driver
cli=$build/reports/flashproof-cli
for program in "$driver" "$cli"; do
  if [[ ! -x $program ]]; then complain 2 "$program: not built"; fi
done
ncu=$(command -v ncu || true)
for candidate in /usr/local/cuda/bin/ncu /opt/nvidia/nsight-compute/*/ncu; do
  if [[ -z $ncu && -x $candidate ]]; then ncu=$candidate; fi
done
if [[ -z $ncu ]]; then complain 3 'no ncu (Nsight Compute)'; fi

# Bytes at the memory and bytes of the threads' requests, summed over the launches of one run.
metrics=dram__bytes_read.sum,dram__bytes_write.sum
metrics+=,l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum,l1tex__t_bytes_pipe_lsu_mem_global_op_st.sum

sums() { # the CSV of `ncu --page raw --print-units base`: a line of names, a line of units, a line per launch
  # Every field is in double quotes, so "," separates whatever the fields hold.
  awk -F '","' -v names="$metrics" '
    BEGIN { count = split(names, name, ",") }
    !header && /dram__bytes_read\.sum/ {
      header = 1
      for (i = 1; i <= NF; ++i) { field = $i; gsub(/"/, "", field); column[field] = i }
      next
    }
    header && !units { units = 1; next }
    header && NF > 1 {
      ++launches
      for (i = 1; i <= count; ++i) if (!(name[i] in column)) exit
      for (i = 1; i <= count; ++i) { v = $(column[name[i]]); gsub(/[",]/, "", v); sum[i] += v }
    }
    END {
      for (i = 1; i <= count; ++i) if (!launches || !(name[i] in column)) exit 1
      for (i = 1; i <= count; ++i) printf "%s%.0f", (i > 1 ? "," : ""), sum[i]
      print ""
    }'
}

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
echo 'kernel,format,rows,cols,dram_read,dram_write,requested_read,requested_write' >"$work/csv"
while read -r kernel form _; do
  if [[ $kernel != softmax.* || $form == broken ]]; then continue; fi
  code=0
  "$driver" "$kernel" "$format" "$rows" "$cols" 2>"$work/err" || code=$?
  case $code in
    0) ;;
    2) printf 'traffic_gpu: left out: %s\n' "$(cat "$work/err")" >&2 && continue ;;
    *) complain "$code" "$(cat "$work/err")" ;;
  esac
  if ! "$ncu" --csv --page raw --print-units base --metrics "$metrics" \
    "$driver" "$kernel" "$format" "$rows" "$cols" >"$work/raw" 2>"$work/err"; then
    complain 3 "ncu: $(grep -h ERR_ "$work/raw" "$work/err" | head -n 1)"
  fi
  if ! bytes=$(sums <"$work/raw"); then
    complain 3 "ncu: no figures for $kernel: $(grep -h -e '==ERROR==' "$work/raw" "$work/err" | head -n 1)"
  fi
  printf '%s,%s,%s,%s,%s\n' "$kernel" "$format" "$rows" "$cols" "$bytes" >>"$work/csv"
  printf 'traffic_gpu: %s\n' "$kernel" >&2
done < <("$cli" list kernels)
mv -- "$work/csv" "$out"
