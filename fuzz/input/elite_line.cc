#include "fuzz/input/elite_line.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

/// The text up to the next space, which is taken away with it.
std::string_view next_word(std::string_view& text) {
  const std::size_t space = text.find(' ');
  const std::string_view word = text.substr(0, space);
  text = space == std::string_view::npos ? std::string_view{} : text.substr(space + 1);
  return word;
}

}  // namespace

std::string to_string(const EliteLine& line) {
  std::string text =
      fmt::format("{} {} {} {:.6g} {}", line.kernel, line.format, line.term, line.ratio, to_string(line.origin.spec));
  if (!line.origin.mutations.empty()) text += ' ' + to_text(line.origin.mutations);
  return text;
}

EliteLine parse_elite_line(std::string_view text) {
  const std::string_view whole = text;
  const auto wrong = [&](const char* what) {
    throw UsageError(quote(whole) + ": " + what + "; legal: kernel format term ratio recipe [changes]");
  };
  EliteLine line;
  line.kernel = next_word(text);
  line.format = next_word(text);
  line.term = next_word(text);
  const std::string_view ratio = next_word(text);
  const auto [end, error] = std::from_chars(ratio.data(), ratio.data() + ratio.size(), line.ratio);
  if (error != std::errc() || end != ratio.data() + ratio.size() || !std::isfinite(line.ratio) || line.ratio < 0) {
    wrong("the ratio must be a number from 0 on");
  }
  const std::string_view recipe = next_word(text);
  if (line.kernel.empty() || line.format.empty() || line.term.empty() || recipe.empty()) wrong("a word is missing");
  line.origin.spec = parse_case_spec(recipe);
  line.origin.mutations = parse_mutations(text);
  return line;
}

std::optional<Origin> elite_origin(ProblemKind problem, std::string_view format, std::span<const std::uint8_t> input) {
  FuzzInput decoded = decode_input(problem, input);
  if (decoded.is_data()) return std::nullopt;
  decoded.origin.spec.keys["format"] = format;
  return std::move(decoded.origin);
}

}  // namespace flashproof
