// What may stand in an archive: the limits of its values, kept when writing and checked when reading.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace flashproof::archive {

inline constexpr std::size_t kKeyBytes = 1024;        // names: subject, what, shape_class, term, a run's id
inline constexpr std::size_t kLineBytes = 64 << 10;   // lines for people
inline constexpr std::size_t kInputBytes = 16 << 20;  // what libFuzzer calls -max_len is some thousands
inline constexpr std::size_t kWitnessBytes = 256 << 20;

/// UTF-8 (no surrogates, nothing overlong) without NUL.
bool is_clean(std::string_view text);
/// The text itself if it is_clean() and fits; else printable() and cut between two characters. clean(clean(x)) is clean(x).
std::string clean(std::string_view text, std::size_t limit);

}  // namespace flashproof::archive
