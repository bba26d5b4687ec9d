#include "kernels/ptx/map/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "reference/system/error.h"
#include "reference/system/near_matches.h"
#include "reference/system/text.h"

namespace flashproof::ptx {
struct Expression::Parser {
  std::string_view text;
  int problem;
  std::vector<Step>& steps;
  std::size_t at = 0;
  int depth = 0;

  [[noreturn]] void refuse(const std::string& what) const {
    throw UsageError(fmt::format("{}: {}", quote(text), what));
  }
  void skip() {
    while (at < text.size() && text[at] == ' ') ++at;
  }
  bool take(char c) {
    skip();
    if (at == text.size() || text[at] != c) return false;
    ++at;
    return true;
  }
  void expect(char c) {
    if (!take(c)) refuse(fmt::format("'{}' is missing behind {} characters", c, at));
  }
  void add(Step::Kind kind) { steps.push_back({kind}); }

  void sum() {
    product();
    for (;;) {
      if (take('+')) {
        product();
      } else if (take('-')) {
        product();
        add(Step::Kind::negative);
      } else {
        return;
      }
      add(Step::Kind::plus);
    }
  }
  void product() {
    factor();
    for (;;) {
      const bool times = take('*');
      if (!times && !take('/')) return;
      factor();
      add(times ? Step::Kind::times : Step::Kind::over);
    }
  }
  void factor() {
    if (++depth > kDeepest)
      refuse(fmt::format("legal: at most {} brackets, signs and functions in each other", kDeepest));
    skip();
    const char c = at < text.size() ? text[at] : '\0';
    if (is_digit(c) || c == '.') {
      number();
    } else if (is_letter(c)) {
      name();
    } else if (take('-')) {
      factor();
      add(Step::Kind::negative);
    } else if (take('(')) {
      sum();
      expect(')');
    } else {
      refuse(fmt::format("a number, a name or '(' is missing behind {} characters", at));
    }
    --depth;
  }
  void number() {
    const char* begin = text.data() + at;
    const char* end = text.data() + text.size();
    std::int64_t whole = 0;
    double real = 0;
    auto read = std::from_chars(begin, end, whole);
    Step step{Step::Kind::constant, whole};
    if (read.ec != std::errc{} || (read.ptr != end && (*read.ptr == '.' || *read.ptr == 'e' || *read.ptr == 'E'))) {
      read = std::from_chars(begin, end, real);
      step.constant = real;
      // What no double holds would have become a real number: a whole one must not.
      const std::string_view word(begin, static_cast<std::size_t>(read.ptr - begin));
      if (read.ec != std::errc{} || word.find_first_of(".eE") == std::string_view::npos) {
        refuse("a number: legal: digits, of a whole one at most 63 bits");
      }
    }
    at += static_cast<std::size_t>(read.ptr - begin);
    steps.push_back(step);
  }
  std::string_view word() {
    skip();
    const std::size_t begin = at;
    while (at < text.size() && (is_letter(text[at]) || is_digit(text[at]))) ++at;
    return text.substr(begin, at - begin);
  }
  /// Up to the bracket that closes: a digit below the number of axes.
  int axis_of(const TensorName& tensor) {
    skip();
    std::string_view axis = text.substr(at, text.find(')', at) - at);
    at += axis.size();
    axis = axis.substr(0, axis.find_last_not_of(' ') + 1);
    if (axis.size() == 1 && axis[0] >= '0' && axis[0] < '0' + tensor.axes) return axis[0] - '0';
    const std::string most = tensor.axes > 1 ? fmt::format("..{}", tensor.axes - 1) : "";
    refuse(fmt::format("axis {}: legal: 0{}, of {}", quote(axis), most, tensor.name));
  }
  template <class Names>
  std::size_t known(std::string_view what, std::string_view word, const Names& names) const {
    std::vector<std::string_view> list;
    for (const auto& one : names) list.push_back(one.name);
    const auto found = std::ranges::find(list, word);
    if (found == list.end()) {
      refuse(fmt::format("unknown {} {}{}; legal: {}", what, quote(word), did_you_mean(word, list),
                         fmt::join(list, ", ")));
    }
    return static_cast<std::size_t>(found - list.begin());
  }
  void name() {
    static constexpr std::array<std::pair<std::string_view, Step::Kind>, 7> kFunctions = {
        {{"ceil", Step::Kind::ceil},
         {"floor", Step::Kind::floor},
         {"sqrt", Step::Kind::root},
         {"min", Step::Kind::least},
         {"max", Step::Kind::most},
         {"size", Step::Kind::size},
         {"stride", Step::Kind::stride}}};
    const std::string_view one = word();
    if (!take('(')) {
      steps.push_back({Step::Kind::value, {}, known("name", one, value_names(problem)), 0});
      return;
    }
    const auto* const found = std::ranges::find(kFunctions, one, [](const auto& f) { return f.first; });
    if (found == kFunctions.end()) {
      refuse(fmt::format("unknown function {}; legal: ceil, floor, sqrt, min, max, size, stride", quote(one)));
    }
    const Step::Kind kind = found->second;
    if (kind == Step::Kind::size || kind == Step::Kind::stride) {
      const std::size_t tensor = known("tensor", word(), tensor_names(problem));
      expect(',');
      steps.push_back({kind, {}, tensor, axis_of(tensor_names(problem)[tensor])});
    } else {
      sum();
      if (kind == Step::Kind::least || kind == Step::Kind::most) {
        expect(',');
        sum();
      }
      add(kind);
    }
    expect(')');
  }
};

Expression::Expression(std::string_view text, int problem) : text_(text), problem_(problem) {
  if (text.empty() || text.size() > kLongest) {
    throw UsageError(fmt::format("{}: legal: an expression of 1 to {} characters", quote(text), kLongest));
  }
  Parser parser{text_, problem, steps_};
  parser.sum();
  parser.skip();
  if (parser.at != text.size()) {
    parser.refuse(fmt::format("{} behind {} characters: legal: + - * /", quote(text.substr(parser.at, 1)), parser.at));
  }
}

Number Expression::run(const flashproof_call& call) const {
  using enum Step::Kind;
  std::vector<Number> stack;
  stack.reserve(steps_.size());
  for (const Step& step : steps_) {
    if (step.kind == constant) {
      stack.push_back(step.constant);
    } else if (step.kind == value) {
      stack.push_back(value_names(problem_)[step.name].of(call));
    } else if (step.kind == size || step.kind == stride) {
      const flashproof_tensor* tensor = tensor_names(problem_)[step.name].of(call);
      stack.emplace_back(step.kind == size ? size_of(tensor, step.axis) : stride_of(tensor, step.axis));
    } else if (step.kind == negative || step.kind == ceil || step.kind == floor || step.kind == root) {
      Number& n = stack.back();
      n = step.kind == negative ? n.negative()
          : step.kind == floor  ? n.floor()
          : step.kind == root   ? n.root()
                                : n.negative().floor().negative();
    } else {
      const Number right = stack.back();
      stack.pop_back();
      Number& left = stack.back();
      left = step.kind == plus                          ? left.plus(right)
             : step.kind == times                       ? left.times(right)
             : step.kind == over                        ? left.over(right)
             : right.less(left) == (step.kind == least) ? right
                                                        : left;
    }
  }
  return stack.back();
}

Number Expression::value(const flashproof_call& call) const {
  try {
    return run(call);
  } catch (const UsageError& e) {
    throw UsageError(fmt::format("{}: {}", quote(text_), e.what()));
  }
}

std::int64_t Expression::whole(const flashproof_call& call, std::int64_t least, std::int64_t most) const {
  const Number number = value(call);
  if (!number.is_whole() || number.whole() < least || number.whole() > most) {
    throw UsageError(fmt::format("{} = {}, legal: whole numbers in {}..{}", quote(text_), number.text(), least, most));
  }
  return number.whole();
}

}  // namespace flashproof::ptx
