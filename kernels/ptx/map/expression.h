// Arithmetic over a problem's dimensions, as text: "ceil(rows / 4)", "scale * 1.4426950408889634", "stride(q, 2)".
//
//   sum      product {(+|-) product}
//   product  factor {(*|/) factor}
//   factor   number | NAME | -factor | (sum) | ceil(sum) | floor(sum) | sqrt(sum) | min(sum, sum) | max(sum, sum)
//            | size(TENSOR, AXIS) | stride(TENSOR, AXIS)
//
// / is exact: 7 / 2 is no whole number, and where one is needed ceil or floor says which. Strides count elements; of a tensor that a problem has not they are 0.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/ptx/map/names.h"
#include "kernels/ptx/map/number.h"

namespace flashproof::ptx {

/// What names are made of.
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Expression {
 public:
  static constexpr std::size_t kLongest = 200;  // characters
  static constexpr int kDeepest = 16;           // brackets and functions in each other

  Expression() = default;
  explicit Expression(std::int64_t constant)
      : text_(std::to_string(constant)), steps_{{Step::Kind::constant, constant}} {}
  explicit Expression(double constant) : text_(Number(constant).text()), steps_{{Step::Kind::constant, constant}} {}
  /// Throws UsageError: what is wrong with the text, and what is legal.
  Expression(std::string_view text, int problem);

  /// Of a call; throws UsageError: the text, and "a division by zero", "beyond 64 bits", "no finite number".
  Number value(const flashproof_call& call) const;
  /// Also where the value is no whole number in least..most.
  std::int64_t whole(const flashproof_call& call, std::int64_t least, std::int64_t most) const;
  const std::string& text() const { return text_; }

 private:
  struct Step {
    enum class Kind : std::uint8_t {
      constant,
      value,
      size,
      stride,
      plus,
      times,
      over,
      negative,
      ceil,
      floor,
      root,
      least,
      most
    };
    Kind kind;
    Number constant = {};
    std::size_t name = 0;  // of value: in value_names(); of size and stride: in tensor_names()
    int axis = 0;
  };
  struct Parser;
  Number run(const flashproof_call& call) const;

  std::string text_;
  int problem_ = 0;
  std::vector<Step> steps_;  // operands first
};

}  // namespace flashproof::ptx
