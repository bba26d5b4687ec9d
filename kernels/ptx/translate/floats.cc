#include "kernels/ptx/translate/floats.h"

namespace flashproof::ptx {

Rounding rounding_of(const Form& form) {
  static constexpr std::pair<std::string_view, Rounding> kNames[] = {{"rz", Rounding::zero},  {"rm", Rounding::down},
                                                                     {"rp", Rounding::up},    {"rzi", Rounding::zero},
                                                                     {"rmi", Rounding::down}, {"rpi", Rounding::up}};
  for (const auto& [name, rounding] : kNames) {
    if (form.has(name)) return rounding;
  }
  return Rounding::nearest;
}

Floats::Floats(BlockCode& code, std::string_view format)
    : code_(code),
      bits_(format == "f64"   ? 64
            : format == "f32" ? 32
                              : 16),
      lanes_(format.ends_with("x2") ? 2 * kLanes : kLanes),
      brain_(format.starts_with("bf16")),
      infinity_(bits_ == 64   ? 0x7ff0000000000000
                : bits_ == 32 ? 0x7f800000
                : brain_      ? 0x7f80
                              : 0x7c00) {}

std::string Floats::type() const { return fmt::format("<{} x i{}>", lanes_, bits_); }
std::string Floats::wide_type() const { return fmt::format("<{} x {}>", lanes_, bits_ == 64 ? "double" : "float"); }
std::string Floats::wide_name() const { return fmt::format("v{}f{}", lanes_, bits_ == 64 ? 64 : 32); }

/// Measured on an H100, as is which NaN of f64 stays: nan_of, nan_from.
std::uint64_t Floats::quiet() const { return bits_ == 64 ? 0xfff8000000000000 : sign() - 1; }

std::string Floats::splat(std::uint64_t bits) const { return integer_splat(bits, bits_); }

std::string Floats::read(const Operand& operand, bool flush) {
  const bool packed = lanes_ != kLanes;
  std::string bits = code_.value(operand, {bits_ == 16 ? 'b' : 'f', packed ? 32 : bits_});
  if (packed) bits = code_.op("bitcast <32 x i32> {} to {}", bits, type());
  return flush ? flushed(bits) : bits;
}

void Floats::write(const Operand& to, const std::string& bits) {
  if (lanes_ == kLanes) return code_.write(to, bits, {'b', bits_});
  code_.write(to, code_.op("bitcast {} {} to <32 x i32>", type(), bits), {'b', 32});
}

std::string Floats::wide(const std::string& bits) {
  if (!is_half()) return code_.op("bitcast {} {} to {}", type(), bits, wide_type());
  if (!brain_) {
    const std::string halves = code_.op("bitcast {} {} to <{} x half>", type(), bits, lanes_);
    return code_.op("fpext <{} x half> {} to {}", lanes_, halves, wide_type());
  }
  const std::string words = code_.op("zext {} {} to <{} x i32>", type(), bits, lanes_);
  const std::string high = code_.op("shl <{0} x i32> {1}, splat (i32 16)", lanes_, words);
  return code_.op("bitcast <{} x i32> {} to {}", lanes_, high, wide_type());
}

std::string Floats::doubles(const std::string& bits) {
  return code_.op("fpext {} {} to <{} x double>", wide_type(), wide(bits), lanes_);
}

/// The bits of a number rounded to nearest -> rounded otherwise. `back` is that number; both compare as they are typed.
std::string Floats::adjusted(const std::string& bits, const std::string& back, const std::string& wide,
                             Rounding rounding) {
  const std::string compared = fmt::format("<{} x {}>", lanes_, bits_ == 16 ? "float" : "double");
  const auto compare = [&](const char* how, const std::string& a, const std::string& b) {
    return code_.op("fcmp {} {} {}, {}", how, compared, a, b);
  };
  const auto size = [&](const std::string& x) {
    return code_.op("call {0} @llvm.fabs.v{1}f{2}({0} {3})", compared, lanes_, bits_ == 16 ? 32 : 64, x);
  };
  const std::string negative = code_.op("icmp slt {} {}, zeroinitializer", type(), bits);
  std::string wrong, away = negative;  // one step away from zero, or toward it
  if (rounding == Rounding::zero) {
    wrong = compare("ogt", size(back), size(wide));
    away = "zeroinitializer";
  } else if (rounding == Rounding::down) {
    wrong = compare("ogt", back, wide);
  } else if (rounding == Rounding::up) {
    wrong = compare("olt", back, wide);
    away = code_.op("xor {} {}, splat (i1 true)", bools(), negative);
  } else {
    const std::string even = code_.op("icmp eq {} {}, zeroinitializer", type(), with("and", bits, 1));
    wrong = code_.op("and {} {}, {}", bools(), compare("one", back, wide), even);
    away = compare("olt", size(back), size(wide));
  }
  const std::string step = select(away, splat(1), splat(~0ULL));
  return select(wrong, code_.op("add {} {}, {}", type(), bits, step), bits);
}

std::string Floats::narrow(const std::string& wide, Rounding rounding) {
  if (!is_half()) return code_.op("bitcast {} {} to {}", wide_type(), wide, type());
  std::string half;
  if (brain_) {
    const std::string words = fmt::format("<{} x i32>", lanes_);
    const std::string bits = code_.op("bitcast {} {} to {}", wide_type(), wide, words);
    const std::string last =
        code_.op("and {0} {1}, splat (i32 1)", words, code_.op("lshr {0} {1}, splat (i32 16)", words, bits));
    const std::string bias = code_.op("add {} {}, splat (i32 32767)", words, last);
    const std::string sum = code_.op("add {} {}, {}", words, bits, bias);
    half = code_.op("trunc {} {} to {}", words, code_.op("lshr {} {}, splat (i32 16)", words, sum), type());
    half = select(is_nan(wide), splat(quiet()), half);  // the sum of a NaN may be anything
  } else {
    const std::string halves = code_.op("fptrunc {} {} to <{} x half>", wide_type(), wide, lanes_);
    half = code_.op("bitcast <{} x half> {} to {}", lanes_, halves, type());
  }
  return rounding == Rounding::nearest ? half : adjusted(half, this->wide(half), wide, rounding);
}

std::string Floats::narrow_double(const std::string& doubles, Rounding rounding) {
  const std::string from = fmt::format("<{} x double>", lanes_);
  if (bits_ == 64) return code_.op("bitcast {} {} to {}", from, doubles, type());
  Floats single(code_, "f32");
  single.lanes_ = lanes_;
  const Rounding first = is_half() ? Rounding::odd : rounding;
  const std::string floats = code_.op("fptrunc {} {} to {}", from, doubles, single.wide_type());
  std::string bits = code_.op("bitcast {} {} to {}", single.wide_type(), floats, single.type());
  if (first != Rounding::nearest) {
    const std::string back = code_.op("fpext {} {} to {}", single.wide_type(), floats, from);
    bits = single.adjusted(bits, back, doubles, first);
  }
  return is_half() ? narrow(single.wide(bits), rounding) : bits;
}

std::string Floats::with(const char* operation, const std::string& bits, std::uint64_t mask) {
  return code_.op("{} {} {}, {}", operation, type(), bits, splat(mask));
}

std::string Floats::select(const std::string& condition, const std::string& yes, const std::string& no) {
  return code_.op("select {0} {1}, {2} {3}, {2} {4}", bools(), condition, type(), yes, no);
}

std::string Floats::is_nan(const std::string& wide) { return code_.op("fcmp uno {0} {1}, {1}", wide_type(), wide); }

std::string Floats::flushed(const std::string& bits) {
  const std::string small = code_.op("icmp eq {} {}, zeroinitializer", type(), with("and", bits, infinity_));
  return select(small, with("and", bits, sign()), bits);
}

std::string Floats::raised(const std::string& wide) {
  return code_.op("fmul {} {}, splat ({} 0x43F0000000000000)", wide_type(), wide, bits_ == 64 ? "double" : "float");
}

std::string Floats::lowered(const std::string& wide) {
  return code_.op("fmul {} {}, splat ({} 0x3BF0000000000000)", wide_type(), wide, bits_ == 64 ? "double" : "float");
}

/// Measured on an H100 on results just below 2^-126, of mul, fma, div and cvt in every direction.
std::string Floats::flushed_below(const std::string& bits, const std::string& above) {
  const std::string size = code_.op("call {0} @llvm.fabs.{1}({0} {2})", wide_type(), wide_name(), wide(above));
  const std::string small = code_.op("fcmp olt {} {}, splat (float 0x3C10000000000000)", wide_type(), size);
  return select(small, with("and", bits, sign()), bits);
}

std::string Floats::nan_of(const std::vector<std::string>& operands) {
  std::string nan = splat(quiet());
  if (bits_ != 64) return nan;
  for (auto x = operands.rbegin(); x != operands.rend(); ++x)
    nan = select(is_nan(wide(*x)), with("or", *x, quiet_bit()), nan);
  return nan;
}

/// From or to f64 the sign stays, as do the upper bits of the fraction; it becomes quiet.
std::string Floats::nan_from(Floats& source, const std::string& bits) {
  if (bits_ != 64 && source.bits_ != 64) return splat(quiet());
  const auto word = [&](const char* operation, const std::string& x, std::uint64_t y) {
    return code_.op("{} <32 x i64> {}, {}", operation, x, integer_splat(y, 64));
  };
  const auto moved = [&](const std::string& x, int from, int to) {  // up or down by so many bits
    return from < to ? word("shl", x, to - from) : word("lshr", x, from - to);
  };
  const std::string x = source.bits_ == 64 ? bits : code_.op("zext {} {} to <32 x i64>", source.type(), bits);
  const std::string sign = moved(word("and", x, source.sign()), source.bits_, bits_);
  const std::string payload = moved(word("and", x, (1ULL << source.fraction()) - 1), source.fraction(), fraction());
  const std::string nan = word("or", code_.op("or <32 x i64> {}, {}", sign, payload), infinity_ | quiet_bit());
  return bits_ == 64 ? nan : code_.op("trunc <32 x i64> {} to {}", nan, type());
}

std::string Floats::finished(const Form& form, const std::string& bits, bool flush, const std::string& nan) {
  const std::string number = wide(bits);
  std::string result = bits;
  if (form.has("sat")) {  // NaN and what is below +0 become +0
    const auto compare = [&](const char* how, const char* with) {
      return code_.op("fcmp {} {} {}, splat ({} {})", how, wide_type(), number, bits_ == 64 ? "double" : "float", with);
    };
    const std::uint64_t one = bits_ == 64 ? 0x3ff0000000000000 : bits_ == 32 ? 0x3f800000 : brain_ ? 0x3f80 : 0x3c00;
    result = select(compare("ogt", "0.0"), select(compare("oge", "1.0"), splat(one), result), "zeroinitializer");
    return flush ? flushed(result) : result;
  }
  if (form.has("relu")) {
    result = select(code_.op("icmp slt {} {}, zeroinitializer", type(), result), "zeroinitializer", result);
  }
  if (form.has("satfinite")) {
    const std::string infinite =
        code_.op("icmp eq {} {}, {}", type(), with("and", result, sign() - 1), splat(infinity_));
    result = select(infinite, with("sub", result, 1), result);
  }
  result = select(is_nan(number), nan, result);
  return flush ? flushed(result) : result;
}

}  // namespace flashproof::ptx
