#include "kernels/special_functions/measured_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "kernels/special_functions/solver.h"

namespace flashproof::special {
namespace {

constexpr std::int64_t kAnything = std::int64_t{1}
                                   << 20;  // how far an input that says nothing leaves its neighbour's limits

/// Solves segments and keeps account of those that have no solution.
class Solver {
 public:
  Solver(std::vector<std::string>& unsolved, std::string_view table) : unsolved_(&unsolved), table_(table) {}

  /// `scale`: log2 of the unit of c, which the hardware keeps with fewer bits.
  void add(std::span<Segment> segments, std::size_t number, Evidence& evidence, int scale) {
    for (std::int64_t& square : evidence.squares) square <<= scale;
    const auto found = solve(evidence);
    if (!found) unsolved_->push_back(fmt::format("{} {}", table_, number));
    segments[number] = found.value_or(Segment{});
    segments[number].c *= 1 << scale;
  }

 private:
  std::vector<std::string>* unsolved_;
  std::string_view table_;
};

/// An input whose output does not come from the table.
void ignore_first(Evidence& e) {
  e.low[0] = e.low[1] - kAnything;
  e.high[0] = e.high[1] + kAnything;
}

/// A unit whose result is the quadratic, cut after `shift` bits, as a mantissa: rcp, rsqrt, sqrt, ex2.
struct Direct {
  int bits;          // of a segment's argument
  int shift;         // behind the quadratic
  int argument_up;   // what the square is taken of: the argument times 2^this
  int exponent;      // the field of the outputs' exponent where the mantissa is 2^23
  bool exact_first;  // f = 0 does not go through the table
};

void solve_direct(const Direct& unit, const std::vector<std::uint32_t>& outputs, std::span<Segment> segments, int scale,
                  Solver& solver) {
  const std::size_t size = std::size_t{1} << unit.bits;
  for (std::size_t number = 0; number < segments.size(); ++number) {
    Evidence e(size);
    for (std::size_t x = 0; x < size; ++x) {
      const std::int64_t mantissa =
          std::int64_t{outputs[number * size + x]} - std::int64_t{unit.exponent - 1} * (1 << 23);
      e.low[x] = mantissa << unit.shift;
      e.high[x] = ((mantissa + 1) << unit.shift) - 1;
      e.squares[x] = square_by_rows(static_cast<std::uint32_t>(x) << unit.argument_up);
    }
    if (unit.exact_first && number == 0) ignore_first(e);
    solver.add(segments, number, e, scale);
  }
}

/// A float's value in units of 2^-fraction, and how many such units its last bit is worth (at least one).
struct Fixed {
  std::int64_t value, width;
};

Fixed fixed(std::uint32_t bits, int fraction) {
  const int shift = biased_exponent(bits) - 127 - 23 + fraction;
  const std::int64_t mantissa = (bits & kFraction) | kHidden;
  if (shift < 0) return {mantissa >> -shift, 1};
  return {mantissa << shift, std::int64_t{1} << shift};
}

/// Both binades round 1 limit the same sum: above 1 it is the result, below it is complemented.
void solve_lg2(const std::vector<std::uint32_t>& below, const std::vector<std::uint32_t>& above,
               std::span<Segment> segments, Solver& solver) {
  constexpr int kBits = 17, kShift = 2;
  constexpr std::size_t kSize = std::size_t{1} << kBits;
  constexpr std::int64_t kOneFixed = std::int64_t{1} << 36;
  for (std::size_t number = 0; number < segments.size(); ++number) {
    Evidence e(kSize);
    for (std::size_t x = 0; x < kSize; ++x) {
      e.squares[x] = square_by_rows(static_cast<std::uint32_t>(x));
      e.low[x] = -kAnything << 18;
      e.high[x] = kAnything << 19;
      if (const std::uint32_t y = above[number * kSize + x]; y != 0) {
        const Fixed f = fixed(y, 36);
        e.low[x] = f.value << kShift;
        e.high[x] = ((f.value + f.width) << kShift) - 1;
      }
      if (const std::uint32_t y = below[number * kSize + x] & ~kSign; y != 0) {
        const Fixed f = fixed(y, 36);
        e.low[x] = std::max(e.low[x], (kOneFixed - f.value - f.width) << kShift);
        e.high[x] = std::min(e.high[x], ((kOneFixed - f.value) << kShift) - 1);
      }
    }
    if (number == 0) ignore_first(e);
    solver.add(segments, number, e, 1);
  }
}

void solve_tanh(int exponent, const std::vector<std::uint32_t>& outputs, std::span<Segment> segments, Solver& solver,
                std::size_t first) {
  constexpr std::size_t kSize = std::size_t{1} << 17;
  const int ignored = 6 - tanh_segments(exponent);
  for (std::size_t number = 0; number < std::size_t{1} << tanh_segments(exponent); ++number) {
    Evidence e(kSize);
    for (std::size_t x = 0; x < kSize; ++x) {
      const Fixed f = fixed(outputs[(number * kSize + x) << ignored], 39);
      e.squares[x] = square_by_rows(static_cast<std::uint32_t>(x));
      e.low[x] = f.value;
      e.high[x] = f.value + f.width - 1;
    }
    solver.add(segments, first + number, e, 0);
  }
}

void append(std::string& source, std::string_view name, std::span<const Segment> segments) {
  source += fmt::format("    .{} = {{\n", name);
  for (const Segment& s : segments) source += fmt::format("        {{{}, {}, {}}},\n", s.a, s.b, s.c);
  source += "    },\n";
}

}  // namespace

MeasuredTables measure_tables(const Outputs& outputs) {
  MeasuredTables result;
  Tables& t = result.tables;
  Solver rcp(result.unsolved, "rcp"), rsqrt(result.unsolved, "rsqrt"), sqrt(result.unsolved, "sqrt");
  Solver ex2(result.unsolved, "ex2"), lg2(result.unsolved, "lg2"), tanh(result.unsolved, "tanh");
  solve_direct({16, 15, 1, 126, false}, outputs({"rcp.approx.ftz.f32", 0}), t.rcp, 0, rcp);
  for (const int odd : {0, 1}) {
    const auto half = [&](std::span<Segment> segments) { return segments.subspan(odd != 0 ? 64 : 0, 64); };
    solve_direct({17, 16, 0, 126, odd == 0}, outputs({"rsqrt.approx.ftz.f32", odd}), half(t.rsqrt), 2, rsqrt);
    solve_direct({17, 17, 0, 127, false}, outputs({"sqrt.approx.ftz.f32", odd}), half(t.sqrt), odd, sqrt);
  }
  solve_direct({17, 15, 0, 128, false}, outputs({"ex2.approx.ftz.f32", 0}), t.ex2, 0, ex2);
  solve_lg2(outputs({"lg2.approx.ftz.f32", -1}), outputs({"lg2.approx.ftz.f32", 0}), t.lg2, lg2);
  for (int e = -8; e <= 2; ++e) {
    solve_tanh(e, outputs({"tanh.approx.f32", e}), t.tanh, tanh, t.tanh_first[e + 8]);
  }
  return result;
}

std::string tables_source(const Tables& tables, const std::string& name, const std::string& measured_on) {
  std::string source = fmt::format(
      "// Generated by `special_functions_gpu tables` from the outputs of {}; do not edit.\n"
      "// clang-format off\ninline constexpr Tables {} = {{\n",
      measured_on, name);
  append(source, "rcp", tables.rcp);
  append(source, "rsqrt", tables.rsqrt);
  append(source, "sqrt", tables.sqrt);
  append(source, "ex2", tables.ex2);
  append(source, "lg2", tables.lg2);
  append(source, "tanh", tables.tanh);
  return source + "};\n// clang-format on\n";
}

}  // namespace flashproof::special
