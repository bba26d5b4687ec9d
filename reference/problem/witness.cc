#include "reference/problem/witness.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <type_traits>
#include <utility>

#include "reference/problem/atomic_file.h"
#include "reference/problem/error.h"
#include "reference/problem/safetensors.h"
#include "reference/problem/text.h"

namespace flashproof {
namespace {

constexpr std::string_view kVersion = "witness 1";
constexpr std::string_view kNote = "note.";

/// The metadata and tensors of a file, handed out one by one: what is asked for must be there, and what is left over at
/// the end is refused.
class Fields {
 public:
  explicit Fields(Safetensors file) : file_(std::move(file)) {}

  std::string text(const std::string& key) {
    auto field = file_.metadata.extract(key);
    if (field.empty()) throw UsageError(fmt::format("__metadata__: no {}", key));
    return std::move(field.mapped());
  }
  std::vector<std::int64_t> counts(const std::string& key) {
    const std::string value = text(key);
    const auto result = parse_counts(value);
    if (!result) throw UsageError(fmt::format("{}: {} must be a list like 0,16,32", key, quote(value)));
    return *result;
  }
  std::vector<std::int32_t> int32s(const std::string& key) {
    std::vector<std::int32_t> result;
    for (std::int64_t value : counts(key)) {
      if (value > std::numeric_limits<std::int32_t>::max()) {
        throw UsageError(fmt::format("{}: {}, must be 0..2^31-1", key, value));
      }
      result.push_back(static_cast<std::int32_t>(value));
    }
    return result;
  }
  /// One of two words: true for the first.
  bool either(const std::string& key, std::string_view yes, std::string_view no) {
    const std::string value = text(key);
    if (value != yes && value != no) {
      throw UsageError(fmt::format("{}: {} must be {} or {}", key, quote(value), yes, no));
    }
    return value == yes;
  }
  float f32(const std::string& key);
  bool has_tensor(const std::string& name) const { return file_.tensors.contains(name); }
  Tensor tensor(const std::string& name);
  WitnessNotes notes();
  void expect_empty() const {
    if (!file_.metadata.empty()) {
      throw UsageError(fmt::format("__metadata__: unknown field {}", quote(file_.metadata.begin()->first)));
    }
    if (!file_.tensors.empty()) {
      throw UsageError(fmt::format("tensor {}: not part of this problem", quote(file_.tensors.begin()->first)));
    }
  }

 private:
  void charge(std::int64_t bytes) {
    if (bytes > kMaxWitnessBytes - storage_) {
      throw UsageError(fmt::format("storage: all tensors together may take {} bytes at most", kMaxWitnessBytes));
    }
    storage_ += bytes;
  }

  Safetensors file_;
  std::int64_t storage_ = 0;
};

/// [-]0x<hex>p<exponent>, as C's %a and Python's float.hex write it; the value must be exactly an f32.
float Fields::f32(const std::string& key) {
  const std::string value = text(key);
  std::string_view digits = value;
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  double result = 0;
  bool legal = digits.starts_with("0x");
  if (legal) {
    digits.remove_prefix(2);
    const char* end = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), end, result, std::chars_format::hex);
    legal = parsed.ec == std::errc() && parsed.ptr == end && !std::signbit(result) && std::isfinite(result) &&
            round_to(Format::f32, result) == result;
  }
  if (!legal) throw UsageError(fmt::format("{}: {} must be a finite f32 like 0x1.8p-3", key, quote(value)));
  return static_cast<float>(negative ? -result : result);
}

Tensor Fields::tensor(const std::string& name) {
  auto node = file_.tensors.extract(name);
  if (node.empty()) throw UsageError(fmt::format("tensor {}: missing", name));
  const StoredTensor& stored = node.mapped();
  std::vector<std::int64_t> stride = counts("stride." + name);
  const std::string size_text = text("storage." + name);
  const auto size = parse_count(size_text);
  if (!size) throw UsageError(fmt::format("storage.{}: {} must be a number of bytes", name, quote(size_text)));
  charge(*size);
  try {
    return tensor_from_dense(stored.format, stored.shape, std::move(stride), *size, stored.data);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("tensor {}: {}", name, error.what()));
  }
}

WitnessNotes Fields::notes() {
  WitnessNotes result;
  for (auto it = file_.metadata.begin(); it != file_.metadata.end();) {
    if (!it->first.starts_with(kNote)) {
      ++it;
      continue;
    }
    const std::string key = it->first.substr(kNote.size());
    if (!is_name(key)) throw UsageError(fmt::format("note {}: must be [a-z][a-z0-9_]*", quote(key)));
    result.emplace(key, std::move(it->second));
    it = file_.metadata.erase(it);
  }
  return result;
}

// Reading and writing one kind of problem stand next to each other: the same fields in the same order.

SoftmaxProblem read_softmax(Fields& fields) {
  SoftmaxProblem p;
  p.x = fields.tensor("x");
  p.row_length = fields.int32s("row_length");
  p.plan.boundary = fields.int32s("plan.boundary");
  p.plan.order = fields.int32s("plan.order");
  return p;
}

MergeProblem read_merge(Fields& fields) {
  MergeProblem p;
  p.o = fields.tensor("o");
  p.lse = fields.tensor("lse");
  p.order = fields.int32s("order");
  p.form = fields.either("form", "sum", "concat") ? MergeForm::sum : MergeForm::concat;
  return p;
}

AttentionProblem read_attention(Fields& fields) {
  AttentionProblem p;
  p.q = fields.tensor("q");
  p.k = fields.tensor("k");
  p.v = fields.tensor("v");
  if (fields.has_tensor("bias")) p.bias = fields.tensor("bias");
  p.scale = fields.f32("scale");
  p.causal = fields.either("causal", "true", "false");
  p.key_length = fields.int32s("key_length");
  p.plan.boundary = fields.int32s("plan.boundary");
  p.plan.order = fields.int32s("plan.order");
  return p;
}

/// Collects a file; owns the dense bytes until it is formatted.
class Draft {
 public:
  void text(const std::string& key, std::string value) { file_.metadata.emplace(key, std::move(value)); }
  template <class T>
  void list(const std::string& key, const std::vector<T>& values) {
    text(key, fmt::format("{}", fmt::join(values, ",")));
  }
  void tensor(const std::string& name, const Tensor& tensor) {
    const auto& bytes = data_.emplace_back(dense_bytes(tensor));
    file_.tensors.emplace(name, StoredTensor{tensor.format, tensor.shape, bytes});
  }
  void strided(const std::string& name, const Tensor& t) {
    tensor(name, t);
    list("stride." + name, t.stride);
    text("storage." + name, fmt::format("{}", t.storage.size()));
  }
  std::vector<std::byte> bytes() const { return format_safetensors(file_); }

 private:
  Safetensors file_;
  std::vector<std::vector<std::byte>> data_;  // moving an inner vector keeps its bytes where the spans point
};

void write_problem(Draft& draft, const SoftmaxProblem& p) {
  draft.strided("x", p.x);
  draft.list("row_length", p.row_length);
  draft.list("plan.boundary", p.plan.boundary);
  draft.list("plan.order", p.plan.order);
}

void write_problem(Draft& draft, const MergeProblem& p) {
  draft.strided("o", p.o);
  draft.strided("lse", p.lse);
  draft.list("order", p.order);
  draft.text("form", p.form == MergeForm::sum ? "sum" : "concat");
}

void write_problem(Draft& draft, const AttentionProblem& p) {
  draft.strided("q", p.q);
  draft.strided("k", p.k);
  draft.strided("v", p.v);
  if (p.has_bias()) draft.strided("bias", p.bias);
  draft.text("scale", fmt::format("{:a}", double{p.scale}));
  draft.text("causal", p.causal ? "true" : "false");
  draft.list("key_length", p.key_length);
  draft.list("plan.boundary", p.plan.boundary);
  draft.list("plan.order", p.plan.order);
}

std::int64_t input_bytes(const Problem& problem) {
  const auto size = [](const auto&... tensor) { return (static_cast<std::int64_t>(tensor.storage.size()) + ...); };
  return std::visit(
      [&](const auto& p) {
        using T = std::decay_t<decltype(p)>;
        if constexpr (std::is_same_v<T, SoftmaxProblem>) return size(p.x);
        if constexpr (std::is_same_v<T, MergeProblem>) return size(p.o, p.lse);
        if constexpr (std::is_same_v<T, AttentionProblem>) return size(p.q, p.k, p.v, p.bias);
      },
      problem);
}

/// validate() has passed: the output has fewer than 2^31 elements.
void check_size(const Problem& problem) {
  const OutputShape shape = output_shape(problem);
  const std::int64_t output = shape.rows * (shape.width * bytes_of(format_of(problem)) + 4);  // o, and lse in f32
  if (input_bytes(problem) + output > kMaxWitnessBytes) {
    throw UsageError(fmt::format("size: inputs and outputs together take {} bytes, must be at most {}",
                                 input_bytes(problem) + output, kMaxWitnessBytes));
  }
}

Witness parse(std::span<const std::byte> bytes) {
  Fields fields(parse_safetensors(bytes));
  if (const std::string version = fields.text("flashproof"); version != kVersion) {
    throw UsageError(fmt::format("flashproof: {} must be \"{}\"", quote(version), kVersion));
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
      witness.content.problem = read_softmax(fields);
      break;
    case ProblemKind::merge:
      witness.content.problem = read_merge(fields);
      break;
    case ProblemKind::attention:
      witness.content.problem = read_attention(fields);
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
  draft.text("flashproof", std::string(kVersion));
  draft.text("case", line);
  draft.text("problem", std::string(name(content.spec.problem)));
  std::visit([&](const auto& problem) { write_problem(draft, problem); }, content.problem);
  for (const auto& [key, value] : witness.notes) {
    if (!is_name(key)) throw UsageError(fmt::format("note {}: must be [a-z][a-z0-9_]*", quote(key)));
    draft.text(std::string(kNote) + key, value);
  }
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

Witness read_witness(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw UsageError(fmt::format("{}: must be a .safetensors file that exists", shown(path.string())));
  }
  constexpr auto kLargest = static_cast<std::uintmax_t>(kMaxWitnessBytes) + kMaxHeaderBytes + 8;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > kLargest) {
    throw UsageError(fmt::format("{}: {} bytes, must be at most {}", shown(path.string()), size, kLargest));
  }
  std::ifstream stream(path, std::ios::binary);
  std::vector<std::byte> bytes(error ? 0 : static_cast<std::size_t>(size));
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (error || !stream) throw InfrastructureError(fmt::format("{}: cannot be read", shown(path.string())));
  return parse_witness(bytes, path.string());
}

void write_tensors(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors,
                   const std::map<std::string, std::string>& metadata) {
  Draft draft;
  for (const auto& [name, tensor] : tensors) draft.tensor(name, tensor);
  for (const auto& [key, value] : metadata) draft.text(key, value);
  write_atomically(path, draft.bytes());
}

}  // namespace flashproof
