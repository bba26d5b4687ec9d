#!/bin/sh
# ptx_lint_test.sh LINT: one hand-written PTX file per rule; every bad instruction must be rejected by its line, every
# good one accepted. Needs no CUDA.
set -eu
lint=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
failures=0

fail() {
  echo "FAILED: $1" >&2
  failures=$((failures + 1))
}

write() { # the instruction stands on line 6
  printf '.version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n%s\n\tret;\n}\n' "$1" >"$work/k.ptx"
}

while IFS= read -r instruction; do
  write "$instruction"
  code=0
  output=$(sh "$lint" "$work/k.ptx") || code=$?
  [ "$code" -eq 1 ] || fail "accepted: $instruction"
  case $output in
    "$work/k.ptx:6: "*) ;;
    *) fail "wrong line or file for: $instruction: $output" ;;
  esac
done <<'BAD'
	mul.f32 	%f3, %f1, %f2;
	add.f32 	%f3, %f1, %f2;
	sub.f32 	%f3, %f1, %f2;
	mul.f64 	%fd3, %fd1, %fd2;
	mul.f16x2 	%r3, %r1, %r2;
	add.bf16 	%rs3, %rs1, %rs2;
	@%p1 add.f32 	%f3, %f1, %f2;
	@!%p1	add.f32 	%f3, %f1, %f2;
$L__BB0_1: add.f32 	%f3, %f1, %f2;
	mov.u32 %r1, 0; add.f32 	%f3, %f1, %f2;
	{ add.f32 %f3, %f1, %f2; }
	add.rz.f32 	%f3, %f1, %f2;
	fma.rz.f32 	%f4, %f1, %f2, %f3;
	fma.rm.f32 	%f4, %f1, %f2, %f3;
	mad.f32 	%f4, %f1, %f2, %f3;
	fma.rn.ftz.f32 	%f4, %f1, %f2, %f3;
	mul.rn.ftz.f32 	%f3, %f1, %f2;
	setp.gt.ftz.f32 	%p1, %f1, %f2;
	max.ftz.f32 	%f3, %f1, %f2;
	ex2.approx.ftz.f32 	%f2, %f1;
	{ex2.approx.f32 %f2, %f1;}
	lg2.approx.f32 	%f2, %f1;
	sin.approx.f32 	%f2, %f1;
	cos.approx.f32 	%f2, %f1;
	tanh.approx.f32 	%f2, %f1;
	rsqrt.approx.f32 	%f2, %f1;
	sqrt.approx.f32 	%f2, %f1;
	rcp.approx.f32 	%f2, %f1;
	rcp.rz.f32 	%f2, %f1;
	div.full.f32 	%f3, %f1, %f2;
	div.approx.f32 	%f3, %f1, %f2;
	atom.global.add.f32 	%f2, [%rd1], %f1;
	red.global.add.f32 	[%rd1], %f1;
	atom.global.add.noftz.f16 	%rs2, [%rd1], %rs1;
	atom.shared::cta.add.f64 	%fd2, [%rd1], %fd1;
	cvt.rn.ftz.f16.f32 	%rs1, %f1;
	add /* .rn */ .f32 	%f3, %f1, %f2; mul.f32 	%f3, %f1, %f2;
BAD

while IFS= read -r instruction; do
  write "$instruction"
  sh "$lint" "$work/k.ptx" || fail "rejected: $instruction"
done <<'GOOD'
	mul.rn.f32 	%f3, %f1, %f2;
	add.rn.f32 	%f3, %f1, %f2;
	fma.rn.f32 	%f4, %f1, %f2, %f3;
	fma.rn.f64 	%fd4, %fd1, %fd2, %fd3;
	div.rn.f32 	%f3, %f1, %f2;
	sqrt.rn.f32 	%f2, %f1;
	rcp.rn.f32 	%f2, %f1;
	max.f32 	%f3, %f1, %f2;
	setp.gt.f32 	%p1, %f1, %f2;
	selp.f32 	%f3, %f1, %f2, %p1;
	mul.lo.s32 	%r3, %r1, %r2;
	mad.lo.s32 	%r4, %r1, %r2, %r3;
	add.s64 	%rd3, %rd1, %rd2;
	{  cvt.rn.f16.f32 %rs1, %f1;}
	cvt.rn.f32.s32 	%f1, %r1;
	shfl.sync.bfly.b32	%r2|%p1, %r1, 16, 31, -1;
	atom.global.add.u32 	%r2, [%rd1], %r1;
	// add.f32 in a comment; ex2.approx too
	mov.u32 %r1, 0; // add.f32
	/* add.f32 */ mov.u32 %r1, 0;
	.loc	1 5 add.f32
GOOD

# Two bad lines give two lines of output, and a good file beside a bad one does not hide it.
printf '.version 9.0\n.visible .entry k()\n{\nadd.f32 a, b, c;\nmul.f32 a, b, c;\n}\n' >"$work/two.ptx"
write '	ret;'
[ "$(sh "$lint" "$work/two.ptx" "$work/k.ptx" | wc -l)" -eq 2 ] || fail "two findings"
sh "$lint" "$work/two.ptx" "$work/k.ptx" >/dev/null && fail "bad file first"
sh "$lint" "$work/k.ptx" "$work/two.ptx" >/dev/null && fail "bad file last"

# --against: equal counts pass, whatever the order; another count of any operation does not; each side is looked at.
write '	mul.rn.f32 a, b, c; add.rn.f32 d, e, f; fma.rn.f32 g, h, i, j;'
cp "$work/k.ptx" "$work/plain.ptx"
write '	fma.rn.f32 g, h, i, j; mul.rn.f32 a, b, c; mov.u32 x, y; add.rn.f32 d, e, f;'
sh "$lint" --against "$work/plain.ptx" "$work/k.ptx" || fail "equal counts"
write '	fma.rn.f32 g, h, i, j; fma.rn.f32 a, b, c, d;'
code=0
output=$(sh "$lint" --against "$work/plain.ptx" "$work/k.ptx") || code=$?
[ "$code" -eq 1 ] || fail "contraction accepted"
[ "$(printf '%s\n' "$output" | grep -c contracted)" -eq 3 ] || fail "contraction: $output"
write '	ret;'
sh "$lint" --against "$work/plain.ptx" "$work/k.ptx" >/dev/null && fail "operations on one side only"
sh "$lint" --against "$work/k.ptx" "$work/plain.ptx" >/dev/null && fail "operations on the other side only"

# What is not PTX is an error, not a pass.
: >"$work/empty.ptx"
printf 'int main() {}\n' >"$work/other.ptx"
printf '.version 9.0\n.target sm_90\n' >"$work/bare.ptx"
for file in "$work/empty.ptx" "$work/other.ptx" "$work/bare.ptx" "$work/missing.ptx"; do
  code=0
  sh "$lint" "$file" 2>/dev/null || code=$?
  [ "$code" -eq 2 ] || fail "exit $code for $file"
  code=0
  sh "$lint" --against "$file" "$work/k.ptx" 2>/dev/null || code=$?
  [ "$code" -eq 2 ] || fail "exit $code against $file"
done
code=0
sh "$lint" 2>/dev/null || code=$?
[ "$code" -eq 2 ] || fail "exit $code without arguments"

[ "$failures" -eq 0 ]
