#!/bin/sh
# ptx_lint.sh [--atomics] FILE.ptx...
# ptx_lint.sh [--atomics] --against NO_FMAD.ptx FILE.ptx
#
# Fails if a deterministic kernel's PTX has an instruction whose result a CPU cannot repeat bit for bit. Prints
# FILE:LINE: INSTRUCTION (reason) for each; exit 1 if there is one, 2 if a file is not PTX.
#
# Rejected: .approx, .ftz and .full on anything; ex2, lg2, sin, cos, tanh and rsqrt (they exist only approximately);
# floating add, sub, mul, fma, mad, div, sqrt and rcp without .rn (without a rounding modifier ptxas may contract
# mul and add; another rounding mode has no counterpart on the CPU executor); floating atomics and reductions (their
# order is not fixed). Vector (f16x2, f32x2, ...) and double types count too. Copies, compares, selects, min, max,
# integer operations, shuffles and rounding conversions pass. With --atomics floating atomics pass: for a kernel that
# leaves their order open and says so.
#
# FILE.ptx must be made with nvcc's default -fmad: under -fmad=false nvcc prints .rn on every operation. Even so nvcc
# contracts most a * b + c itself and prints fma.rn, which looks like one that was asked for. That is what --against
# finds: NO_FMAD.ptx is the same source under -fmad=false, and the floating operations of both must be equal in number,
# opcode by opcode. lint_cu.sh makes both files and runs this.
set -eu

usage() {
  echo "usage: ptx_lint.sh [--atomics] FILE.ptx... | ptx_lint.sh [--atomics] --against NO_FMAD.ptx FILE.ptx" >&2
  exit 2
}

atomics=
if [ "${1-}" = --atomics ]; then
  atomics=1
  shift
fi
against=
if [ "${1-}" = --against ]; then
  [ "$#" -eq 3 ] || usage
  against=$2
  shift 2
fi
[ "$#" -gt 0 ] || usage

for file in "$@" ${against:+"$against"}; do
  if [ ! -r "$file" ] || ! grep -q '^[[:space:]]*\.version[[:space:]]' "$file" ||
    ! grep -Eq '\.(entry|func)([[:space:]]|$)' "$file"; then
    echo "$file: not readable, or not PTX with a kernel or function in it" >&2
    exit 2
  fi
done

# lint FILE: prints the findings. With a second argument: prints the opcode of every floating operation instead.
lint() {
  awk -v file="$1" -v list="${2-}" -v atomics="$atomics" '
    function arithmetic(opcode) {
      return opcode ~ /^(add|sub|mul|fma|mad|div|sqrt|rcp)\./ &&
        opcode ~ /\.(f16|f32|f64|bf16|f16x2|f32x2|bf16x2)(\.|$)/
    }
    function reason(opcode) {
      if (opcode ~ /\.approx(\.|$)/) return "approximate"
      if (opcode ~ /\.ftz(\.|$)/) return "flushes subnormals"
      if (opcode ~ /\.full(\.|$)/) return "approximate division"
      if (opcode ~ /^(ex2|lg2|sin|cos|tanh|rsqrt)\./) return "approximate"
      if (atomics == "" && opcode ~ /^(atom|red|multimem)\..*\.add\.(noftz\.)?(f16|f32|f64|bf16|v[248])/) return "sum in no fixed order"
      if (arithmetic(opcode) && opcode !~ /\.rn(\.|$)/) return "no .rn: may be contracted, or rounds another way"
      return ""
    }
    {
      text = $0
      while (match(text, /\/\*[^*]*\*\//)) text = substr(text, 1, RSTART - 1) " " substr(text, RSTART + RLENGTH)
      sub(/\/\/.*/, "", text)
      if (text ~ /^[ \t]*\.(file|loc|section|pragma)/) next
      count = split(text, statements, ";")
      for (i = 1; i <= count; ++i) {
        statement = statements[i]
        gsub(/[{}]/, " ", statement)                                 # inline asm stands in braces
        sub(/^[ \t]+/, "", statement)
        while (sub(/^[A-Za-z_$%][A-Za-z0-9_$]*[ \t]*:[ \t]*/, "", statement)) {}  # labels
        sub(/^@!?[A-Za-z0-9_$%]+[ \t]+/, "", statement)              # predicate
        sub(/[ \t]+$/, "", statement)
        opcode = statement
        sub(/[ \t].*/, "", opcode)
        if (list != "") {
          if (arithmetic(opcode)) print opcode
          continue
        }
        why = reason(opcode)
        if (why != "") {
          printf "%s:%d: %s (%s)\n", file, NR, statement, why
          found = 1
        }
      }
    }
    END { exit found ? 1 : 0 }' "$1"
}

status=0
for file in "$@"; do
  lint "$file" || status=1
done

if [ -n "$against" ]; then
  {
    lint "$1" list | sed 's/$/ 1 0/'
    lint "$against" list | sed 's/$/ 0 1/'
  } | awk -v file="$1" '
    { fused[$1] += $2; plain[$1] += $3 }
    END {
      for (opcode in fused) {
        if (fused[opcode] == plain[opcode]) continue
        printf "%s: %s: %d with -fmad, %d without (a * b + c was contracted)\n", file, opcode, fused[opcode], plain[opcode]
        found = 1
      }
      exit found ? 1 : 0
    }' || status=1
fi
exit "$status"
