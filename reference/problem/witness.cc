#include "reference/problem/witness.h"

#include <fmt/format.h>

#include <span>
#include <type_traits>

#include "reference/problem/atomic_file.h"
#include "reference/problem/error.h"
#include "reference/problem/read_file.h"
#include "reference/problem/safetensors.h"
#include "reference/problem/text.h"
#include "reference/problem/witness_fields.h"

namespace flashproof {
namespace {

// Reading and writing one kind of problem stand next to each other: the same fields in the same order.

SoftmaxProblem read_softmax(Fields& fields) {
  SoftmaxProblem p;
  p.x = fields.tensor("x");
  p.row_length = fields.int32s("row_length");
  p.plan.boundary = fields.int32s("plan.boundary");
  p.plan.order = fields.int32s("plan.order");
  return p;
}

/// left,right of one join after the other.
std::vector<Join> read_joins(Fields& fields) {
  const std::vector<std::int32_t> nodes = fields.int32s("joins");
  if (nodes.size() % 2 != 0) throw UsageError(fmt::format("joins: {} nodes, must be two for each", nodes.size()));
  std::vector<Join> joins(nodes.size() / 2);
  for (std::size_t k = 0; k < joins.size(); ++k) joins[k] = {nodes[2 * k], nodes[2 * k + 1]};
  return joins;
}

MergeProblem read_merge(Fields& fields) {
  MergeProblem p;
  p.o = fields.tensor("o");
  p.lse = fields.tensor("lse");
  if (fields.has_tensor("l")) p.l = fields.tensor("l");
  p.order = fields.int32s("order");
  if (fields.has("joins")) p.joins = read_joins(fields);
  p.form = fields.either("form", "sum", "concat") ? MergeForm::sum : MergeForm::concat;
  return p;
}

/// The optional fields: only what a problem uses is in its file, so that the plain form has the same bytes for ever.
void read_features(Fields& fields, AttentionProblem& p) {
  if (fields.has("window")) {
    const std::vector<std::int32_t> window = fields.signed_int32s("window");
    if (window.size() != 2) throw UsageError(fmt::format("window: {} numbers, must be left,right", window.size()));
    p.window_left = window[0];
    p.window_right = window[1];
  }
  if (fields.has("softcap")) p.softcap = fields.f32("softcap");
  if (fields.has_tensor("alibi")) p.alibi = fields.tensor("alibi");
  if (fields.has_tensor("sink")) p.sink = fields.tensor("sink");
  if (fields.has_tensor("q_descale")) p.q_descale = fields.tensor("q_descale");
  if (fields.has_tensor("k_descale")) p.k_descale = fields.tensor("k_descale");
  if (fields.has_tensor("v_descale")) p.v_descale = fields.tensor("v_descale");
  if (fields.has("q_start")) p.q_start = fields.int32s("q_start");
  if (fields.has("k_start")) p.k_start = fields.int32s("k_start");
  if (fields.has("page_table")) p.page_table = fields.signed_int32s("page_table");
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
  read_features(fields, p);
  p.plan.boundary = fields.int32s("plan.boundary");
  p.plan.order = fields.int32s("plan.order");
  return p;
}

BackwardProblem read_backward(Fields& fields) {
  BackwardProblem p;
  p.forward = read_attention(fields);
  p.d_out = fields.tensor("d_out");
  p.o = fields.tensor("o");
  p.lse = fields.tensor("lse");
  p.mode = fields.either("mode", name(BackwardMode::stage), name(BackwardMode::gradient)) ? BackwardMode::stage
                                                                                          : BackwardMode::gradient;
  return p;
}

void write_problem(Draft& draft, const SoftmaxProblem& p) {
  draft.strided("x", p.x);
  draft.list("row_length", p.row_length);
  draft.list("plan.boundary", p.plan.boundary);
  draft.list("plan.order", p.plan.order);
}

std::vector<std::int32_t> nodes_of(const std::vector<Join>& joins) {
  std::vector<std::int32_t> nodes;
  for (const Join& join : joins) nodes.insert(nodes.end(), {join.left, join.right});
  return nodes;
}

void write_problem(Draft& draft, const MergeProblem& p) {
  draft.strided("o", p.o);
  draft.strided("lse", p.lse);
  if (p.has_l()) draft.strided("l", p.l);
  draft.list("order", p.order);
  if (!p.joins.empty()) draft.list("joins", nodes_of(p.joins));
  draft.text("form", p.form == MergeForm::sum ? "sum" : "concat");
}

void write_features(Draft& draft, const AttentionProblem& p) {
  if (p.has(Feature::window)) draft.text("window", fmt::format("{},{}", p.window_left, p.window_right));
  if (p.has(Feature::softcap)) draft.text("softcap", fmt::format("{:a}", double{p.softcap}));
  if (p.has_alibi()) draft.strided("alibi", p.alibi);
  if (p.has_sink()) draft.strided("sink", p.sink);
  if (!p.q_descale.shape.empty()) draft.strided("q_descale", p.q_descale);
  if (!p.k_descale.shape.empty()) draft.strided("k_descale", p.k_descale);
  if (!p.v_descale.shape.empty()) draft.strided("v_descale", p.v_descale);
  if (!p.q_start.empty()) draft.list("q_start", p.q_start);
  if (!p.k_start.empty()) draft.list("k_start", p.k_start);
  if (!p.page_table.empty()) draft.list("page_table", p.page_table);
}

void write_problem(Draft& draft, const AttentionProblem& p) {
  draft.strided("q", p.q);
  draft.strided("k", p.k);
  draft.strided("v", p.v);
  if (p.has_bias()) draft.strided("bias", p.bias);
  draft.text("scale", fmt::format("{:a}", double{p.scale}));
  draft.text("causal", p.causal ? "true" : "false");
  draft.list("key_length", p.key_length);
  write_features(draft, p);
  draft.list("plan.boundary", p.plan.boundary);
  draft.list("plan.order", p.plan.order);
}

void write_problem(Draft& draft, const BackwardProblem& p) {
  write_problem(draft, p.forward);
  draft.strided("d_out", p.d_out);
  draft.strided("o", p.o);
  draft.strided("lse", p.lse);
  draft.text("mode", std::string(name(p.mode)));
}

std::int64_t input_bytes(const Problem& problem) {
  const auto size = [](const auto&... tensor) { return (static_cast<std::int64_t>(tensor.storage.size()) + ...); };
  const auto attention = [&](const AttentionProblem& p) {
    return size(p.q, p.k, p.v, p.bias, p.alibi, p.sink, p.q_descale, p.k_descale, p.v_descale);
  };
  return std::visit(
      [&](const auto& p) {
        using T = std::decay_t<decltype(p)>;
        if constexpr (std::is_same_v<T, SoftmaxProblem>) return size(p.x);
        if constexpr (std::is_same_v<T, MergeProblem>) return size(p.o, p.lse, p.l);
        if constexpr (std::is_same_v<T, AttentionProblem>) return attention(p);
        if constexpr (std::is_same_v<T, BackwardProblem>) return attention(p.forward) + size(p.d_out, p.o, p.lse);
      },
      problem);
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
  Fields fields(parse_safetensors(bytes));
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
      witness.content.problem = read_softmax(fields);
      break;
    case ProblemKind::merge:
      witness.content.problem = read_merge(fields);
      break;
    case ProblemKind::attention:
      witness.content.problem = read_attention(fields);
      break;
    case ProblemKind::backward:
      witness.content.problem = read_backward(fields);
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
  std::visit([&](const auto& problem) { write_problem(draft, problem); }, content.problem);
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
