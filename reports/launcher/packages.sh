# shellcheck shell=bash
# What the build needs from Debian, and how ./flashproof gets it. Sourced by ../../flashproof.
# shellcheck disable=SC2154  # root, preset, build, stamp, no_install, missing, names: set there

# Every package that the programs need, named as in Debian 12, and what for. CI's extra ones stand in .ci/run.
packages='
g++                       the C++20 compiler
cmake                     the build description
ninja-build               runs the build
ccache                    keeps what was compiled: compare and another branch take it from there
python3                   makes the seeded faults from their diffs
pkgconf                   how CMake finds MPFR and GMP
libboost1.81-dev          Boost.Multiprecision: the oracle
libboost-context1.81-dev  fibers of the CPU executor
libgmp-dev                big integers, under MPFR
libmpfr-dev               big floats, correctly rounded
libmpfi-dev               intervals of MPFR numbers
libhwy-dev                the fast tier of the oracle: vector code chosen for the CPU at run time
librandom123-dev          counter-based random numbers
libcli11-dev              command line
nlohmann-json3-dev        report.json and .safetensors headers
libfmt-dev                text output
libtomlplusplus-dev       gate policies and waivers of compare
libsqlite3-dev            archive of what fuzzing has found
librapidcheck-dev         property tests
libjs-chart.js            the plots of report.html, put into the page
'

# What only some commands need; main puts it into more_packages for those.
# shellcheck disable=SC2034
test_packages='
libgtest-dev              tests
libgmock-dev              tests, matchers
libbenchmark-dev          benchmarks
patch                     an example is a kernel with two patches
python3-jsonschema        tests: report.json against its schema
'
# shellcheck disable=SC2034
fuzz_packages='
clang-19                  the compiler of the fuzz targets
libclang-rt-19-dev        libFuzzer and the sanitizers
'
more_packages=''

# Sets missing=(...) from the packages that this command needs.
find_missing() {
  local status package purpose
  missing=()
  mapfile -t names < <(awk 'NF { print $1 }' <<<"$packages$more_packages")
  status=$'\n'$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${names[@]}" 2>/dev/null || true)$'\n'
  while read -r package purpose; do
    if [[ -n $package && $status != *$'\n'"$package installed"$'\n'* ]]; then missing+=("$package"); fi
  done <<<"$packages$more_packages"
}

run_apt() { # apt-get's arguments; its output goes to the log
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -o DPkg::Lock::Timeout=120 "$@" \
    </dev/null >>"$root/build/apt.log" 2>&1
}

apt_failed() { # WHAT
  say "$1; the end of build/apt.log:"
  tail -n 20 "$root/build/apt.log" >&2
  exit 3
}

ensure_packages() {
  local package purpose removed
  if ! command -v dpkg-query >/dev/null; then
    if [[ ! -e $stamp ]]; then say 'no dpkg on this system: packages are not checked, CMake looks for the programs and headers itself'; fi
    return
  fi
  find_missing
  if ((${#missing[@]} == 0)); then return; fi

  local -a as_root=() install=(install --no-remove --no-install-recommends -y "${missing[@]}")
  say "missing packages (${#missing[@]}):"
  while read -r package purpose; do
    if [[ " ${missing[*]} " == *" $package "* ]]; then printf '  %-26s %s\n' "$package" "$purpose" >&2; fi
  done <<<"$packages$more_packages"
  if ((no_install)); then fail 3 "not installed (--no-install); as root: apt-get ${install[*]}"; fi
  if ((EUID != 0)); then
    if ! sudo -n true 2>/dev/null; then fail 3 "not installed (not root, and sudo wants a password); as root: apt-get ${install[*]}"; fi
    as_root=(sudo -n)
  fi

  # A dry run knows three things before anything changes: unknown packages (old lists), conflicts, and success.
  local -a dry=(env LC_ALL=C apt-get -s --no-install-recommends install "${missing[@]}")
  if ! "${dry[@]}" >/dev/null 2>&1; then
    say 'updating the package lists (apt-get update)'
    run_apt update || apt_failed 'apt-get update failed'
    "${dry[@]}" >>"$root/build/apt.log" 2>&1 || apt_failed 'apt cannot install these (the names are those of Debian 12)'
  fi
  removed=$("${dry[@]}" | awk '$1 == "Remv" { printf " %s", $2 }')
  if [[ -n $removed ]]; then
    say "apt would have to remove:$removed"
    if [[ $removed == *libboost* ]]; then
      say 'Debian installs the headers of one Boost version at a time; flashproof needs 1.81, since 1.74 lacks what the oracle uses'
    fi
    fail 3 "nothing was changed; remove them yourself, or work in a container or chroot, then: apt-get ${install[*]}"
  fi
  say 'installing them through apt (log: build/apt.log)'
  if ! run_apt "${install[@]}"; then # a stale list names files that are gone from the mirror
    run_apt update || apt_failed 'apt-get update failed'
    run_apt "${install[@]}" || apt_failed 'apt-get install failed'
  fi
}
