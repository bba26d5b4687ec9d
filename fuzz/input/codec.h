// What a fuzzer's bytes stand for: a case and how it is run, by one decoder. Any bytes mean something; every case has bytes,
// so that what a property test found or a person wrote seeds a corpus.
//
//   recipe  kernel 1 | law 1 | family 1 | seed 8 | keys 1 each, in the order of keys_of() | n, schedule n | mutations 8 each
//   data    kDataTag 1 | kernel 1 | law 1 | n, schedule n | a witness file (reference/problem/witness/witness.h)
//
// Bytes that are missing are 0; a rest that is shorter than a mutation is left out. A recipe never begins with kDataTag.
// Extents come from a table of small numbers and those around tile edges, so that one byte changes one thing and cases stay
// small. Little endian.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fuzz/input/origin.h"
#include "kernels/simt/cpu/schedule.h"
#include "reference/problem/witness/witness.h"

namespace flashproof {

inline constexpr std::uint8_t kDataTag = 0xff;

struct FuzzInput {
  std::uint8_t kernel = 0;                  // which subject, where the caller leaves that open; < kDataTag
  std::uint8_t law = 0;                     // see chosen_law()
  Origin origin = {};                       // of a recipe
  std::vector<std::byte> witness = {};      // of data: the file; then origin is unused
  std::vector<std::uint8_t> schedule = {};  // empty: fifo

  bool operator==(const FuzzInput&) const = default;
  bool is_data() const { return !witness.empty(); }
  simt::Schedule order() const;
};

inline constexpr std::size_t kMostScheduleBytes = 32;
inline constexpr std::size_t kLongestInput = 4096;  // the engine's -max_len

/// Never throws for what the bytes say.
FuzzInput decode_input(ProblemKind problem, std::span<const std::uint8_t> bytes);
/// decode_input() of the result is `input` again. None for a recipe with a key, a value or a mutation that has no bytes:
/// its data has (data_input()).
std::optional<std::vector<std::uint8_t>> encode_input(const FuzzInput& input);
/// The data of any case; at most kLongestInput bytes, else none.
std::optional<std::vector<std::uint8_t>> data_input(const std::vector<std::byte>& witness);

/// The problem. Throws UsageError if the family refuses the recipe, or the witness is malformed or of another problem.
Case case_of(ProblemKind problem, const FuzzInput& input);
/// The input with one more change, for a local search. None where it has no room for one, and for a gradient's data.
std::optional<FuzzInput> changed(ProblemKind problem, const FuzzInput& input, const Mutation& mutation);
/// Changes whenever the same bytes may mean another case: of the families and the values of keys.
std::uint64_t tables_fingerprint();
/// FuzzInput::kernel, before anything else is known.
std::uint8_t kernel_byte(std::span<const std::uint8_t> bytes);
/// Of products() (properties/laws/support/change.h): fuzzing refuses what is above.
inline constexpr std::int64_t kMostWork = 1 << 16;  // attention of 16 queries, 64 keys and 32 + 32 dimensions
/// "attention:staircase:7:sk=33 + 3 mutations" or "data of 812 bytes", with the schedule if there is one.
std::string describe(const FuzzInput& input);

/// The value of a mutation's byte that leaves no relating law (the first kNoLaw of 256), so that most inputs cost one run.
inline constexpr int kNoLaw = 224;
/// Index into a list of `count` laws; none for most bytes.
std::optional<std::size_t> chosen_law(std::uint8_t law, std::size_t count);
/// The byte that chooses it; index < count <= 256 − kNoLaw.
std::uint8_t law_byte(std::size_t index);

}  // namespace flashproof
