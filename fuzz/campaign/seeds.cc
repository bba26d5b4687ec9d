// A case that a property test, a report or a person has, into the seed corpora.
#include <fmt/format.h>

#include <optional>
#include <vector>

#include "fuzz/campaign/content.h"
#include "fuzz/campaign/regressions.h"
#include "fuzz/input/codec.h"
#include "properties/generators/family.h"
#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;

/// What a case is to a target: the line, if the recipe says all, and an input.
struct Seed {
  std::string target;
  std::string line;
  std::optional<std::vector<std::uint8_t>> input;
};

/// The target of the corpora that cases of this kind seed.
std::string target_of(ProblemKind problem) {
  return problem == ProblemKind::backward ? "backward" : std::string(name(problem));
}

Seed of_recipe(const CaseSpec& spec) {
  Seed seed{.target = target_of(spec.problem), .line = to_string(spec), .input = std::nullopt};
  FuzzInput input;
  input.origin.spec = spec;
  if (encode_input(input)) return seed;
  // A value that has no byte, such as an extent between those of the table: the data has.
  seed.line.clear();
  seed.input = data_input(format_witness({make_case(spec), {}}));
  return seed;
}

Seed of_line(const std::string& text) {
  const CaseSpec spec = parse_case_spec(text);
  make_case(spec);
  return of_recipe(spec);
}

/// Whether the recipe makes what the file holds, which a shrunk witness does not: it keeps the recipe that it came from.
/// Compared as files, because a witness forgets the gaps of a layout.
bool still_made(const std::vector<std::byte>& file, const CaseSpec& spec) {
  try {
    return format_witness({make_case(spec), {}}) == file;
  } catch (const UsageError&) {  // a family of another version, or none
    return false;
  }
}

Seed of_witness(const std::string& file) {
  const Case content = parse_witness(read_witness_bytes(file), file).content;
  const auto plain = format_witness({content, {}});
  if (still_made(plain, content.spec)) return of_recipe(content.spec);
  return {target_of(content.spec.problem), "", data_input(plain)};
}

/// The line at the end of the file, unless it stands there.
bool add_line(const fs::path& file, const std::string& line) {
  const auto bytes = read_regular(file, kMostText);
  std::error_code error;
  if (!bytes && fs::exists(file, error)) throw UsageError(printable(file.string(), 4096) + ": is no readable file");
  std::string text = bytes ? std::string(bytes->begin(), bytes->end()) : std::string();
  if (("\n" + text).find("\n" + line + "\n") != std::string::npos) return false;
  if (!text.empty() && text.back() != '\n') text += '\n';
  write_atomically(file, text + line + '\n');
  return true;
}

bool add_input(const fs::path& folder, const Bytes& input) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw InfrastructureError(fmt::format("{}: {}", printable(folder.string(), 4096), error.message()));
  const fs::path file = folder / content_name(input);
  if (fs::exists(file, error)) return false;
  write_atomically(file, std::as_bytes(std::span(input)));
  return true;
}

}  // namespace

void add_seeds(std::span<const std::string> cases, const fs::path& corpus) {
  for (const std::string& text : cases) {
    const Seed seed = text.ends_with(".safetensors") ? of_witness(text) : of_line(text);
    if (!seed.line.empty()) {
      const bool added = add_line(corpus / (seed.target + ".txt"), seed.line);
      fmt::print("{}.txt: {}{}\n", seed.target, seed.line, added ? "" : " (stood there)");
      continue;
    }
    if (!seed.input) {
      throw UsageError(
          fmt::format("{}: more than {} bytes, and no recipe of a target's tables makes it; legal: a smaller case",
                      quote(text), kLongestInput));
    }
    const bool added = add_input(corpus / seed.target, *seed.input);
    fmt::print("{}/{}{}\n", seed.target, content_name(*seed.input), added ? "" : " (stood there)");
  }
}

}  // namespace flashproof
