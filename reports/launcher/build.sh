# shellcheck shell=bash
# Configuration and build of a preset. Sourced by ./flashproof, which sets root, options, build, preset, tests and architectures.
# shellcheck disable=SC2154  # those
lock() { # FOLDER: until 9 is closed; two calls at once would build into one
  if ! mkdir -p -- "$1" 2>/dev/null || [[ ! -w $root/build || ! -w $1 ]]; then fail 3 "cannot write to $1"; fi
  exec 9>"$root/build/.lock"
  if have flock && ! flock -n 9; then say 'waiting: another call is installing or building in this tree' && apart flock 9; fi
}
apart() { # COMMAND ...: in a group of processes of its own, which interrupted() ends
  local status=0
  set -m
  "$@" &
  job=$!
  set +m
  wait "$job" || status=$?
  job=''
  return "$status"
}

configure() { # nothing where nothing has changed; a moved tree has the old place in its cache, and tests stay once they are there
  if [[ -e $build/build.ninja ]] && grep -sqx FLASHPROOF_TESTS:BOOL=ON "$build/CMakeCache.txt"; then tests=ON; fi
  local -a wanted=("CMAKE_HOME_DIRECTORY:INTERNAL=$root" "FLASHPROOF_TESTS:BOOL=$tests")
  if [[ -n $architectures ]]; then wanted+=("CMAKE_CUDA_ARCHITECTURES:STRING=$architectures"); fi
  if [[ -e $build/build.ninja && $build/.configured -nt $root/CMakePresets.json ]] &&
    [[ $(grep -scxFf <(printf '%s\n' "${wanted[@]}") "$build/CMakeCache.txt") == "${#wanted[@]}" ]]; then return; fi
  say "configuring (preset $preset${architectures:+, GPU architecture $architectures})"
  wanted=("${wanted[@]:1}")
  apart env -C "$root" cmake --fresh --preset "$preset" "${wanted[@]/#/-D}" >"$build/configure.log" 2>&1 </dev/null ||
    failed 'CMake failed' "$preset/configure.log"
  touch "$build/.configured"
}
show_progress() { # SECONDS: ninja's output on stdin: a line each tenth of the way and SECONDS, on a terminal one that is rewritten
  local line now shown=-1 steps=10 start='' end='\n' at=() began=$SECONDS last=$SECONDS status
  if [[ -t 2 && ${TERM:-dumb} != dumb ]]; then steps=1000 start='\r\e[K' end=''; fi
  while status=0 && IFS= read -r -t "$1" line || status=$?; ((status == 0 || status > 128)); do # 128: of -t
    if ((status == 0)) && [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] && ((BASH_REMATCH[2] > 2)); then at=("${BASH_REMATCH[@]:1:2}"); fi
    if ((${#at[@]} == 0)); then continue; fi
    now=$((steps * at[0] / at[1]))
    if ((now == shown && SECONDS - last < $1)); then continue; fi
    shown=$now last=$SECONDS
    printf "%bflashproof: building (preset $preset): step %d of %d, %d s%b" "$start" "${at[@]}" $((last - began)) "$end" >&2
  done
  printf '%b' "$start" >&2
}
build() { # JOBS TARGET
  NINJA_STATUS='[%f/%t] ' cmake --build "$build" --parallel "$1" --target "$2" 2>&1 </dev/null |
    tee "$build/build.log" | show_progress 30
}
prepare() { # FILE TARGET: packages, configuration, build; the file is there when that was done
  local jobs
  [[ $preset == portable ]] || grep -sm1 '^flags' /proc/cpuinfo | grep -w avx2 | grep -qw fma ||
    fail 3 '/proc/cpuinfo has no AVX2 and FMA, which the build (x86-64-v3) needs; --portable builds a slow one that runs anywhere'
  if told --no-build && [[ ! -e $1 ]]; then fail 3 "--no-build: $1 is not there; the command without --no-build builds it"; fi
  if told --no-build; then return; fi
  lock "$build"
  install_packages
  configure
  # A compiler takes 1.5 GB.
  jobs=$(awk -v n="$(nproc)" '/^MemAvailable/ { m = int($2 / 1500000) } END { print (m > n ? n : m < 1 ? 1 : m) }' /proc/meminfo 2>/dev/null) || jobs=$(nproc)
  if ! apart build "$jobs" "$2"; then
    say "the build failed; from build/$preset/build.log:" # the compiler's command line is behind FAILED
    sed -n '/^FAILED: \|^CMake Error\|^ninja: error/,${/^FAILED: /{p;n;d};/^\[/!p}' "$build/build.log" |
      cut -c 1-300 | sed -n 1,40p >&2 # not head: what it cuts off would end the pipe, and us with its code
    exit 3
  fi
  exec 9>&-
}

