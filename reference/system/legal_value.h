// What the value of an option may be, and the sentence about one that it may not be: the same at every door.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flashproof {

struct LegalValue {
  enum class Kind : std::uint8_t { text, whole, real, words };
  Kind kind = Kind::text;
  std::uint64_t least = 0, most = 0;      // of a whole number
  double shortest = 0, longest = 0;       // of a real one
  std::vector<std::string_view> words{};  // one of these

  /// "1..4096", "det, native"; empty of a text.
  std::string range() const;
  /// Throws UsageError: `--jobs "0": must be 1..4096`. `name`: as the user wrote it.
  std::uint64_t whole(std::string_view name, std::string_view value) const;
  double real(std::string_view name, std::string_view value) const;
  void require_word(std::string_view name, std::string_view value) const;
};

LegalValue whole_number(std::uint64_t least, std::uint64_t most);
LegalValue real_number(double shortest, double longest);
LegalValue one_of(std::vector<std::string_view> words);

}  // namespace flashproof
