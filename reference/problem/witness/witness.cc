#include "reference/problem/witness/witness.h"

#include <fmt/format.h>

#include <span>
#include <string>
#include <vector>

#include "reference/problem/fields.h"
#include "reference/problem/witness/safetensors.h"
#include "reference/problem/witness/witness_file.h"
#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/read_file.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

/// Only what a problem uses is in its file, so that the plain form has the same bytes for ever; a field that is always there is
/// required.
class FieldReader {
 public:
  explicit FieldReader(WitnessFile& file) : file_(file) {}

  void operator()(const Field& field, Tensor& tensor) {
    if (field.presence == Presence::always || file_.has_tensor(key(field))) tensor = file_.tensor(key(field));
  }
  void operator()(const Field& field, std::vector<std::int32_t>& values) {
    if (!stands(field)) return;
    values = field.name == "page_table" ? file_.signed_int32s(key(field)) : file_.int32s(key(field));
  }
  void operator()(const Field& field, std::vector<Join>& joins) {
    if (!stands(field)) return;
    const std::vector<std::int32_t> nodes = file_.int32s(key(field));  // left, right of one join after the other
    if (nodes.size() % 2 != 0) throw UsageError(fmt::format("joins: {} nodes, must be two for each", nodes.size()));
    for (std::size_t k = 0; k < nodes.size(); k += 2) joins.push_back({nodes[k], nodes[k + 1]});
  }
  void operator()(const Field& field, float& value) {
    if (stands(field)) value = file_.f32(key(field));
  }
  template <class T>
  void operator()(const Field& field, const TwoWords<T>& word) {
    if (!stands(field)) return;
    word.value = file_.either(key(field), word.first_word, word.second_word) ? word.first : word.second;
  }
  template <class T>
  void operator()(const Field& field, const Window<T>& window) {
    if (!stands(field)) return;
    const std::vector<std::int32_t> ends = file_.signed_int32s(key(field));
    if (ends.size() != 2) throw UsageError(fmt::format("window: {} numbers, must be left,right", ends.size()));
    window.left = ends[0];
    window.right = ends[1];
  }

 private:
  static std::string key(const Field& field) { return std::string(field.name); }
  bool stands(const Field& field) const { return field.presence == Presence::always || file_.has(key(field)); }

  WitnessFile& file_;
};

class FieldWriter {
 public:
  explicit FieldWriter(Draft& draft) : draft_(draft) {}

  void operator()(const Field& field, const Tensor& tensor) {
    if (field.presence == Presence::always || !tensor.shape.empty()) draft_.strided(key(field), tensor);
  }
  void operator()(const Field& field, const std::vector<std::int32_t>& values) {
    if (field.presence == Presence::always || !values.empty()) draft_.list(key(field), values);
  }
  void operator()(const Field& field, const std::vector<Join>& joins) {
    std::vector<std::int32_t> nodes;
    for (const Join& join : joins) nodes.insert(nodes.end(), {join.left, join.right});
    (*this)(field, nodes);
  }
  void operator()(const Field& field, float value) {
    if (field.presence == Presence::always || value != 0) draft_.text(key(field), fmt::format("{:a}", double{value}));
  }
  template <class T>
  void operator()(const Field& field, const TwoWords<T>& word) {
    const bool first = word.value == word.first;
    if (field.presence == Presence::optional && !first) return;
    draft_.text(key(field), std::string(first ? word.first_word : word.second_word));
  }
  template <class T>
  void operator()(const Field& field, const Window<T>& window) {
    if (window.left < 0 && window.right < 0) return;
    draft_.text(key(field), fmt::format("{},{}", window.left, window.right));
  }

 private:
  static std::string key(const Field& field) { return std::string(field.name); }

  Draft& draft_;
};

template <class P>
Problem read_problem(WitnessFile& file) {
  P problem;
  for_each_field(problem, FieldReader(file));
  return problem;
}

std::int64_t input_bytes(const Problem& problem) {
  std::int64_t bytes = 0;
  const auto add = [&](const Field&, const Tensor& t) { bytes += static_cast<std::int64_t>(t.storage.size()); };
  std::visit([&](const auto& p) { for_each_tensor(p, add); }, problem);
  return bytes;
}

/// validate() has passed: an output has fewer than 2^31 elements.
std::int64_t output_bytes(const Problem& problem) {
  std::int64_t bytes = 0;
  for (const Part part : parts(kind_of(problem))) {
    std::int64_t part_bytes = bytes_of(output_format(problem, part));
    for (const std::int64_t extent : output_shape(problem, part)) part_bytes *= extent;
    bytes += part_bytes;
  }
  return bytes;
}

void check_size(const Problem& problem) {
  const std::int64_t bytes = input_bytes(problem) + output_bytes(problem);
  if (bytes > kMaxWitnessBytes) {
    throw UsageError(
        fmt::format("size: inputs and outputs together take {} bytes, must be at most {}", bytes, kMaxWitnessBytes));
  }
}

Witness parse(std::span<const std::byte> bytes) {
  WitnessFile fields(parse_safetensors(bytes));
  if (const std::string version = fields.text("flashproof"); version != kWitnessVersion) {
    throw UsageError(fmt::format("flashproof: {} must be \"{}\"", quote(version), kWitnessVersion));
  }
  Witness witness;
  witness.content.spec = parse_case_spec(fields.text("case"));
  const std::string kind = fields.text("problem");
  if (kind != name(witness.content.spec.problem)) {
    throw UsageError(
        fmt::format("problem: {} must be that of the case, {}", quote(kind), name(witness.content.spec.problem)));
  }
  switch (witness.content.spec.problem) {
    case ProblemKind::softmax:
      witness.content.problem = read_problem<SoftmaxProblem>(fields);
      break;
    case ProblemKind::merge:
      witness.content.problem = read_problem<MergeProblem>(fields);
      break;
    case ProblemKind::attention:
      witness.content.problem = read_problem<AttentionProblem>(fields);
      break;
    case ProblemKind::backward:
      witness.content.problem = read_problem<BackwardProblem>(fields);
      break;
  }
  witness.notes = fields.notes();
  fields.expect_empty();
  validate(witness.content.problem);
  check_size(witness.content.problem);
  return witness;
}

std::string shown(const std::string& name) { return printable(name, 4096); }

}  // namespace

std::vector<std::byte> format_witness(const Witness& witness) {
  const Case& content = witness.content;
  validate(content.problem);
  check_size(content.problem);
  const std::string line = to_string(content.spec);
  if (parse_case_spec(line) != content.spec || content.spec.problem != kind_of(content.problem)) {
    throw UsageError(fmt::format("case: {} does not describe this problem", quote(line)));
  }
  Draft draft;
  draft.text("flashproof", std::string(kWitnessVersion));
  draft.text("case", line);
  draft.text("problem", std::string(name(content.spec.problem)));
  std::visit([&](const auto& problem) { for_each_field(problem, FieldWriter(draft)); }, content.problem);
  draft.notes(witness.notes);
  return draft.bytes();
}

void write_witness(const std::filesystem::path& path, const Witness& witness) {
  write_atomically(path, format_witness(witness));
}

Witness parse_witness(std::span<const std::byte> bytes, const std::string& name) {
  try {
    return parse(bytes);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", shown(name), error.what()));
  }
}

std::vector<std::byte> read_witness_bytes(const std::filesystem::path& path) {
  constexpr auto kLargest = static_cast<std::uint64_t>(kMaxWitnessBytes) + kMaxHeaderBytes + 8;
  const std::string text = read_file(path, kLargest);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Witness read_witness(const std::filesystem::path& path) {
  return parse_witness(read_witness_bytes(path), path.string());
}

void write_tensors(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors,
                   const std::map<std::string, std::string>& metadata) {
  Draft draft;
  for (const auto& [name, tensor] : tensors) draft.tensor(name, tensor);
  for (const auto& [key, value] : metadata) draft.text(key, value);
  write_atomically(path, draft.bytes());
}

}  // namespace flashproof
