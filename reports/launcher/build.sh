# shellcheck shell=bash
# Configure and build one preset, quietly where there is nothing to do. Sourced by ../../flashproof.
# shellcheck disable=SC2154  # root, preset, architectures, with_tests, build, stamp, no_install, no_build, missing, names: set there

cached() { grep -sqxF -- "$1" "$build/CMakeCache.txt"; } # NAME:TYPE=VALUE

configure() {
  local -a wanted=()
  local value current=1
  if [[ $preset == *cuda ]]; then wanted+=("CMAKE_CUDA_ARCHITECTURES:STRING=$architectures"); fi
  if [[ -e $build/build.ninja ]] && cached FLASHPROOF_TESTS:BOOL=ON; then with_tests=ON; fi # once there, they stay
  wanted+=("FLASHPROOF_TESTS:BOOL=$with_tests")
  # A moved or copied tree keeps the old place in its cache.
  for value in "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "${wanted[@]}"; do cached "$value" || current=0; done
  if ((current)) && [[ -e $build/build.ninja && $stamp -nt $root/CMakePresets.json ]]; then return; fi
  say "configuring (preset $preset${architectures:+, GPU architecture $architectures})"
  if ! (cd -- "$root" && cmake --fresh --preset "$preset" "${wanted[@]/#/-D}") >"$build/configure.log" 2>&1 </dev/null; then
    say "CMake failed; the end of build/$preset/configure.log:"
    tail -n 25 "$build/configure.log" >&2
    exit 3
  fi
  touch "$stamp"
}

# ninja's output on stdin, a short progress on stderr: one line rewritten on a terminal, else a line each tenth.
show_progress() {
  local line tenth=-1 shown=0 terminal=0
  if [[ -t 2 && ${TERM:-dumb} != dumb ]]; then terminal=1; fi
  while IFS= read -r line; do
    if [[ ! $line =~ ^\[([0-9]+)/([0-9]+)\]\ (.*) ]]; then continue; fi
    if ((terminal)); then
      printf '\r\033[K[%d/%d] %.60s' "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "${BASH_REMATCH[3]}" >&2
      shown=1
    elif ((BASH_REMATCH[2] > 2 && 10 * BASH_REMATCH[1] / BASH_REMATCH[2] > tenth)); then
      tenth=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
      say "building (preset $preset): step ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
    fi
  done
  if ((shown)); then printf '\r\033[K' >&2; fi
}

build_jobs() { # one compiler takes up to 1.5 GB
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable/ { print int($2 / 1500000) }' /proc/meminfo 2>/dev/null || true)
  if [[ -n $memory ]] && ((memory < cores)); then cores=$((memory > 0 ? memory : 1)); fi
  printf '%d' "$cores"
}

build_target() { # TARGET
  local status=0
  (cd -- "$root" && NINJA_STATUS='[%f/%t] ' cmake --build "$build" --parallel "$(build_jobs)" --target "$1" 2>&1 </dev/null) |
    tee "$build/build.log" | show_progress || status=$?
  if ((status)); then
    say "the build failed; from build/$preset/build.log:"
    # From the first failure on, without progress and without the compiler's command line, which follows "FAILED:".
    awk 'skip { skip = 0; next }
         /^FAILED: / { skip = 1 }
         /^FAILED: |^CMake Error|^ninja: error/ { on = 1 }
         on && !/^\[[0-9]+\// && n++ < 40 { print substr($0, 1, 300) }' "$build/build.log" >&2
    exit 3
  fi
}

prepare() { # TARGET FILE: packages, configuration, build; FILE is there when that was done
  require_cpu
  if ((no_build)); then
    if [[ ! -e $2 ]]; then fail 3 "--no-build: $2 is not there; the same command without --no-build builds it"; fi
    return
  fi
  if ! mkdir -p -- "$build" 2>/dev/null || [[ ! -w $root/build || ! -w $build ]]; then fail 3 "cannot write to $build"; fi
  exec 9>"$root/build/.lock"
  if command -v flock >/dev/null && ! flock -n 9; then # two calls at once would build into one folder
    say 'waiting: another call is installing or building in this tree'
    flock 9
  fi
  ensure_packages
  configure
  build_target "$1"
  exec 9>&-
}
