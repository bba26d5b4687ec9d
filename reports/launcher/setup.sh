# shellcheck shell=bash
# ./flashproof setup --cuda: nvcc from PyPI wheels into .cuda/, for a machine without a CUDA toolkit. Sourced by
# ../../flashproof.
# shellcheck disable=SC2154  # root: set there

setup() { # --cuda
  local nvcc new
  if (($# != 1)) || [[ $1 != --cuda ]]; then fail 2 "setup takes --cuda${1:+, not $(quoted "$*")}"; fi
  if nvcc=$(find_nvcc); then
    say "nvcc is there: $nvcc; nothing to do"
    exit 0
  fi
  if [[ $(uname -sm) != 'Linux x86_64' ]]; then fail 3 "the wheels are for x86-64 Linux, this is $(uname -sm)"; fi
  if ! python3 -m pip --version >/dev/null 2>&1; then
    fail 3 'pip is missing; as root: apt-get install --no-install-recommends -y python3-pip'
  fi
  if ! mkdir -p -- "$root/build" || [[ ! -w $root ]]; then fail 3 "cannot write to $root"; fi
  new=$root/.cuda.new
  rm -rf -- "$new"
  say 'installing nvcc 13.0 from PyPI into .cuda (100 MB to fetch, 280 MB on disk; log: build/setup.log)'
  if ! PIP_DISABLE_PIP_VERSION_CHECK=1 python3 -m pip install --no-input --no-deps --require-hashes --only-binary :all: \
    --target "$new" -r "$root/reports/launcher/cuda-wheels.txt" </dev/null >"$root/build/setup.log" 2>&1; then
    rm -rf -- "$new"
    say 'pip failed; the end of build/setup.log:'
    tail -n 15 "$root/build/setup.log" >&2
    exit 3
  fi
  # nvcc and CMake look for the runtime in lib64, the wheels have it in lib.
  ln -s lib "$new/nvidia/cu13/lib64"
  rm -rf -- "$root/.cuda"
  mv -- "$new" "$root/.cuda"
  if ! nvcc=$(find_nvcc) || ! "$nvcc" --version >/dev/null; then fail 3 'the nvcc of .cuda does not run'; fi
  say "nvcc $("$nvcc" --version | sed -n 's/.*release.*, V//p') is in ${nvcc%/*}"
  exit 0
}
