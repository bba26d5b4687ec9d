#include "reference/problem/backward_witness.h"

#include <fmt/format.h>

#include "reference/problem/atomic_file.h"
#include "reference/problem/error.h"
#include "reference/problem/safetensors.h"
#include "reference/problem/text.h"
#include "reference/problem/witness_fields.h"

namespace flashproof {
namespace {

constexpr std::string_view kForward = "attention";
constexpr std::string_view kBackward = "attention_backward";

/// validate() has passed. Inputs, and the three outputs in the format of q.
void check_size(const BackwardProblem& p) {
  const AttentionProblem& f = p.forward;
  std::int64_t bytes = p.query_rows() * f.head_dim() + p.key_rows() * (f.head_dim() + f.value_dim());
  bytes *= bytes_of(f.q.format);
  for (const Tensor* tensor : {&f.q, &f.k, &f.v, &f.bias, &f.alibi, &p.d_out, &p.o, &p.lse}) {
    bytes += static_cast<std::int64_t>(tensor->storage.size());
  }
  if (bytes > kMaxWitnessBytes) {
    throw UsageError(
        fmt::format("size: inputs and outputs together take {} bytes, must be at most {}", bytes, kMaxWitnessBytes));
  }
}

BackwardWitness parse(std::span<const std::byte> bytes) {
  Fields fields(parse_safetensors(bytes));
  if (const std::string version = fields.text("flashproof"); version != kWitnessVersion) {
    throw UsageError(fmt::format("flashproof: {} must be \"{}\"", quote(version), kWitnessVersion));
  }
  BackwardWitness witness;
  witness.content.spec = parse_backward_line(fields.text("case"));
  if (const std::string kind = fields.text("problem"); kind != kBackward) {
    throw UsageError(fmt::format("problem: {} must be {}", quote(kind), kBackward));
  }
  BackwardProblem& p = witness.content.problem;
  p.forward = read_attention(fields);
  p.d_out = fields.tensor("d_out");
  p.o = fields.tensor("o");
  p.lse = fields.tensor("lse");
  p.mode = fields.either("mode", name(BackwardMode::stage), name(BackwardMode::gradient)) ? BackwardMode::stage
                                                                                          : BackwardMode::gradient;
  witness.notes = fields.notes();
  fields.expect_empty();
  validate(p);
  check_size(p);
  return witness;
}

}  // namespace

std::string backward_line(const CaseSpec& spec) {
  return std::string(kBackward) + to_string(spec).substr(name(spec.problem).size());
}

bool is_backward_line(std::string_view text) {
  return text.starts_with(kBackward) && (text.size() == kBackward.size() || text[kBackward.size()] == ':');
}

CaseSpec parse_backward_line(std::string_view line) {
  if (!is_backward_line(line)) {
    throw UsageError(fmt::format("case: {} must begin with {}:", quote(line), kBackward));
  }
  return parse_case_spec(std::string(kForward) + std::string(line.substr(kBackward.size())));
}

std::vector<std::byte> format_backward_witness(const BackwardWitness& witness) {
  const BackwardProblem& p = witness.content.problem;
  validate(p);
  check_size(p);
  const std::string line = backward_line(witness.content.spec);
  if (parse_backward_line(line) != witness.content.spec) {
    throw UsageError(fmt::format("case: {} does not describe this problem", quote(line)));
  }
  Draft draft;
  draft.text("flashproof", std::string(kWitnessVersion));
  draft.text("case", line);
  draft.text("problem", std::string(kBackward));
  write_attention(draft, p.forward);
  draft.strided("d_out", p.d_out);
  draft.strided("o", p.o);
  draft.strided("lse", p.lse);
  draft.text("mode", std::string(name(p.mode)));
  draft.notes(witness.notes);
  return draft.bytes();
}

void write_backward_witness(const std::filesystem::path& path, const BackwardWitness& witness) {
  write_atomically(path, format_backward_witness(witness));
}

BackwardWitness parse_backward_witness(std::span<const std::byte> bytes, const std::string& name) {
  try {
    return parse(bytes);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", printable(name, 4096), error.what()));
  }
}

bool is_backward_witness(std::span<const std::byte> bytes) {
  try {
    const Safetensors file = parse_safetensors(bytes);
    const auto problem = file.metadata.find("problem");
    return problem != file.metadata.end() && problem->second == kBackward;
  } catch (const UsageError&) {
    return false;
  }
}

}  // namespace flashproof
