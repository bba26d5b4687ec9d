# shellcheck shell=bash
# ./flashproof doctor: facts about this machine as `key: value` lines. Sourced by ../../flashproof.
# shellcheck disable=SC2154  # root, preset, build, stamp, no_install, missing, names: set there

fact() { printf '%s: %s\n' "$1" "${2:-unknown}"; }

program_version() {
  local text
  if ! text=$("$1" --version 2>/dev/null); then printf missing && return; fi
  if [[ $text =~ [0-9]+\.[0-9]+(\.[0-9]+)* ]]; then printf '%s' "${BASH_REMATCH[0]}"; fi
}

package_version() {
  local version
  version=$(dpkg-query -W -f '${db:Status-Status} ${Version}\n' "$1" 2>/dev/null | sed -n 's/^installed //p')
  printf '%s' "${version:-missing}"
}

doctor() {
  local name text
  local -a wrong=() built=()

  # shellcheck source=/dev/null
  fact system "$(. /etc/os-release 2>/dev/null && printf '%s' "${PRETTY_NAME:-}"), $(uname -sr), $(uname -m)"
  fact compiler "g++ $(program_version g++)"
  for name in cmake ninja ccache clang-19; do fact "$name" "$(program_version "$name")"; done
  if command -v dpkg-query >/dev/null; then
    find_missing
    fact boost "$(package_version libboost1.81-dev)"
    fact mpfr "$(package_version libmpfr-dev)"
    fact mpfi "$(package_version libmpfi-dev)"
    fact packages "$((${#names[@]} - ${#missing[@]})) of ${#names[@]} required ones installed"
    if ((${#missing[@]})); then wrong+=("${missing[@]}"); fi
  else
    fact packages 'no dpkg on this system: CMake checks the headers and libraries'
    for name in g++ cmake ninja python3; do
      if ! command -v "$name" >/dev/null; then wrong+=("$name"); fi
    done
  fi

  fact cpu "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | sort -u)"
  for name in avx2 fma avx512f; do
    text=no
    if has_cpu_flag "$name"; then text=yes; fi
    fact "$name" "$text"
  done
  if [[ $preset != portable ]] && ! { has_cpu_flag avx2 && has_cpu_flag fma; }; then wrong+=('AVX2 and FMA (or --portable)'); fi
  fact cores "$(nproc)"
  fact memory "$(awk '/^MemTotal/ { printf "%.1f GiB", $2 / 1048576 }' /proc/meminfo)"

  text=missing
  if name=$(find_nvcc); then text="$("$name" --version | sed -n 's/.*release.*, V//p') in ${name%/*}"; fi
  fact nvcc "$text"
  if text=$(gpu_facts name) && [[ -n $text ]]; then
    fact gpu "${text//$'\n'/; }"
    text=$(gpu_facts driver_version) || text=unknown
    fact driver "${text%%$'\n'*}"
    fact cuda_architectures "$(cuda_architectures || printf 'FLASHPROOF_CUDA_ARCHITECTURES is wrong')"
  else
    fact gpu none
    fact driver none
  fi

  for name in cpu portable cuda asan fuzz; do
    if [[ -e $root/build/$name/build.ninja ]]; then built+=("$name"); fi
  done
  fact presets_configured "${built[*]:-none}"
  if ((${#wrong[@]})); then fail 3 "required and missing: ${wrong[*]}"; fi
}
