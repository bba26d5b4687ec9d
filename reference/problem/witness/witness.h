// A case as a .safetensors file that Python opens: every input tensor (logical shape, dense), the rest in __metadata__.
// Reading trusts nothing: header length, JSON, shapes, offsets and every field are checked before a byte is used.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "reference/problem/case.h"

namespace flashproof {

/// What the writer adds so that a replay knows what to run; keys (names, as in case.h) such as "kernel", "executor",
/// "schedule", "verdict".
using WitnessNotes = std::map<std::string, std::string>;

struct Witness {
  Case content;
  WitnessNotes notes;

  bool operator==(const Witness&) const = default;
};

/// Upper limit for the storage of all input tensors, strides' gaps included, plus the outputs of the problem.
inline constexpr std::int64_t kMaxWitnessBytes = std::int64_t{1} << 30;

/// The bytes of the file. Throws UsageError if the case is not valid, its line not in case.h's grammar, or too large.
/// Gaps in a tensor's storage are not written: they come back as 0xff. A note that is not UTF-8 gets U+FFFD there.
std::vector<std::byte> format_witness(const Witness& witness);
/// format_witness() to a temporary name in the same directory, then renamed. Throws InfrastructureError.
void write_witness(const std::filesystem::path& path, const Witness& witness);

/// The result is valid(). Throws UsageError with one line "<name>: <what is wrong>" for anything else; `name` stands
/// for the path. This is what the fuzz target calls.
Witness parse_witness(std::span<const std::byte> bytes, const std::string& name);
/// Throws UsageError for a malformed file, and where there is no regular file; InfrastructureError if it cannot be
/// read.
Witness read_witness(const std::filesystem::path& path);
/// What read_witness() parses; the same errors of the file.
std::vector<std::byte> read_witness_bytes(const std::filesystem::path& path);

/// Plain named tensors (used by `truth --out`): dense, in their own format. Same atomic write.
void write_tensors(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors,
                   const std::map<std::string, std::string>& metadata);

}  // namespace flashproof
