// Arithmetic of maps: exact, bounded, and every complaint says what is legal.
#include "kernels/ptx/map/expression.h"

#include <gtest/gtest.h>

#include "kernels/ptx/map/trial.h"
#include "reference/system/error.h"

namespace flashproof::ptx {
namespace {

const TrialCall& softmax() {
  static const TrialCall kCall(FLASHPROOF_SOFTMAX, {{"rows", 7}, {"cols", 130}});
  return kCall;
}

Number value(const std::string& text) { return Expression(text, FLASHPROOF_SOFTMAX).value(softmax().call()); }

std::string complaint(const std::string& text) {
  try {
    return "no complaint: " + value(text).text();
  } catch (const UsageError& e) {
    return e.what();
  }
}

TEST(Expression, is_exact) {
  const std::pair<const char*, const char*> cases[] = {
      {"rows", "7"},
      {"ceil(rows / 4)", "2"},
      {"floor(rows / 4)", "1"},
      {"ceil(-rows / 4)", "-1"},
      {"floor(-rows / 4)", "-2"},
      {"rows / 4 * 4", "7"},
      {"rows / 3 / 7", "1/3"},
      {"2 - 3 - 4", "-5"},
      {"2 + 3 * -4", "-10"},
      {"(2 + 3) * 4", "20"},
      {"min(rows, 4) + max(rows, 4) * 10", "74"},
      {"stride(x, 0) * rows", "910"},
      {"size(lse, 0) + size( x , 1 )", "137"},
      {"sqrt(16) / 8", "0.5"},
      {"ceil(1.5 * rows)", "11"},
      {"1e3 * .5", "500.0"},
      {"9223372036854775807", "9223372036854775807"},
      {"9223372036854775807 - 1 + 1", "9223372036854775807"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(value(text).text(), expected) << text;
}

TEST(Expression, says_what_is_wrong) {
  const std::string deep = std::string(17, '(') + "rows" + std::string(17, ')');
  const std::pair<std::string, const char*> cases[] = {
      {"", "legal: an expression of 1 to 200 characters"},
      {std::string(201, '1'), "legal: an expression of 1 to 200 characters"},
      {deep, "legal: at most 16 brackets, signs and functions in each other"},
      {std::string(100, '-') + "1", "at most 16 brackets"},
      {"rows +", "a number, a name or '(' is missing behind 6 characters"},
      {"(rows", "')' is missing behind 5 characters"},
      {"rows cols", "behind 5 characters: legal: + - * /"},
      {"rows; x", "\";\" behind 4 characters"},
      {"row", "unknown name \"row\" (did you mean rows?); legal: rows, cols"},
      {"d", "unknown name \"d\"; legal: rows, cols"},
      {"pow(rows, 2)", "unknown function \"pow\"; legal: ceil, floor, sqrt, min, max, size, stride"},
      {"stride(y, 0)", "unknown tensor \"y\"; legal: x, row_length, o, lse"},
      {"stride(x, 2)", "axis \"2\": legal: 0..1, of x"},
      {"stride(x, -1)", "axis \"-1\": legal: 0..1, of x"},
      {"stride(x, rows)", "axis \"rows\": legal: 0..1, of x"},
      {"stride(x, )", "axis \"\": legal: 0..1, of x"},
      {"stride(x, 1", "')' is missing"},
      {"size(lse, 1)", "axis \"1\": legal: 0, of lse"},
      {"min(rows)", "',' is missing"},
      {"9223372036854775808", "of a whole one at most 63 bits"},
      {"1e999", "a number: legal"},
      {"0x10", "\"x\" behind 1 characters"},
      {"rows / (rows - 7)", "a division by zero"},
      {"rows / 0", "\"rows / 0\": a division by zero"},
      {"0.5 / 0.0", "a division by zero"},
      {"9223372036854775807 + 1", "beyond 64 bits"},
      {"9223372036854775807 * 9223372036854775807", "beyond 64 bits"},
      {"1 / 9223372036854775807 / 2", "beyond 64 bits"},
      {"-9223372036854775807 - 2", "beyond 64 bits"},
      {"1e300 * 1e300", "no finite number"},
      {"sqrt(-rows)", "no finite number"},
      {"floor(1e300)", "beyond 64 bits"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_NE(complaint(text).find(expected), std::string::npos) << text << ": " << complaint(text);
  }
}

TEST(Expression, is_a_whole_number_in_a_range_where_one_is_needed) {
  const auto whole = [](const char* text) {
    return Expression(text, FLASHPROOF_SOFTMAX).whole(softmax().call(), 1, 100);
  };
  EXPECT_EQ(whole("rows"), 7);
  for (const char* text : {"rows / 2", "cols", "rows - 7", "0.5 * 4"}) EXPECT_THROW(whole(text), UsageError) << text;
}

}  // namespace
}  // namespace flashproof::ptx
