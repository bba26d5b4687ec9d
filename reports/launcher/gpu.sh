# shellcheck shell=bash
# What this machine has for CUDA. Sourced by ../../flashproof and ../../.ci/run.
tree=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)

find_nvcc() { # as the top CMakeLists.txt looks for it; last, what ./flashproof setup --cuda installed
  local path
  for path in "${CUDA_PATH:-}/bin/nvcc" "${CUDA_HOME:-}/bin/nvcc" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc \
    "$tree/.cuda/nvidia/cu13/bin/nvcc"; do
    if [[ $path != /bin/nvcc && -x $path ]]; then printf '%s' "$path" && return; fi
  done
  return 1
}

gpu_facts() { # FIELD: one line a GPU; fails without a usable driver, and does not wait for one that hangs
  command -v nvidia-smi >/dev/null && timeout -k 1 5 nvidia-smi --query-gpu="$1" --format=csv,noheader 2>/dev/null
}

# The value for CMAKE_CUDA_ARCHITECTURES: the environment's word, else what the GPUs here are, else Hopper. 90 becomes
# 90a, as the default is. Fails, printing nothing, when the environment's word is none.
cuda_architectures() {
  local one='[1-9][0-9]{1,2}[af]?(-real|-virtual)?' cap found=''
  if [[ -n ${FLASHPROOF_CUDA_ARCHITECTURES:-} ]]; then
    if [[ ! $FLASHPROOF_CUDA_ARCHITECTURES =~ ^$one(\;$one)*$ ]]; then return 1; fi
    printf '%s' "$FLASHPROOF_CUDA_ARCHITECTURES"
    return
  fi
  while read -r cap; do
    if [[ ! $cap =~ ^([1-9][0-9]?)\.([0-9])$ ]]; then continue; fi # "[N/A]" and the complaints of old drivers
    cap=${BASH_REMATCH[1]}${BASH_REMATCH[2]}
    if [[ $cap == 90 ]]; then cap=90a; fi
    if [[ ";$found;" != *";$cap;"* ]]; then found+=${found:+;}$cap; fi
  done < <(gpu_facts compute_cap || true)
  printf '%s' "${found:-90a}"
}
