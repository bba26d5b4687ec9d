#include "fuzz/search/starts.h"

#include <cmath>
#include <map>
#include <string>
#include <variant>

#include "properties/generators/family.h"
#include "properties/generators/numbers.h"
#include "reference/problem/fields.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

bool all_finite(const Tensor& tensor) {
  std::vector<std::int64_t> index(tensor.shape.size(), 0);
  for (std::int64_t n = 0; n < tensor.elements(); ++n) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * tensor.stride[axis];
    if (!std::isfinite(decode(tensor.format, tensor.bits(offset)))) return false;
    for (std::size_t axis = index.size(); axis > 0; --axis) {  // the next index: the last axis counts fastest
      index[axis - 1] += 1;
      if (index[axis - 1] < tensor.shape[axis - 1]) break;
      index[axis - 1] = 0;
    }
  }
  return true;
}

bool has_full_rows(const SoftmaxProblem& p) { return p.row_length.empty(); }
bool has_full_rows(const MergeProblem&) { return true; }
bool has_full_rows(const AttentionProblem& p) { return p.plain() && p.key_length.empty() && !p.causal; }
bool has_full_rows(const BackwardProblem& p) { return has_full_rows(p.forward); }

bool is_full(const Problem& problem) {
  return std::visit(
      [](const auto& p) {
        bool full = has_full_rows(p);
        for_each_tensor(p, [&](const Field&, const Tensor& tensor) { full = full && all_finite(tensor); });
        return full;
      },
      problem);
}

std::map<std::string, std::string> shape_keys(ProblemKind problem, Random& random) {
  constexpr const char* kChunks[] = {"16", "32", "64"};
  constexpr const char* kColumns[] = {"64", "128", "256"};
  switch (problem) {
    case ProblemKind::softmax:
      return {{"rows", "4"}, {"cols", "512"}, {"chunk", pick(random, kColumns)}, {"layout", "dense"}};
    case ProblemKind::merge:
      return {{"n", "16"},
              {"rows", "4"},
              {"dv", "16"},
              {"layout", "dense"},
              {"form", random.chance(0.5) ? "concat" : "sum"}};
    case ProblemKind::backward:
      return {{"b", "1"},          {"hq", "1"},
              {"hk", "1"},         {"sq", "16"},
              {"sk", "64"},        {"d", "32"},
              {"dv", "32"},        {"causal", "0"},
              {"layout", "dense"}, {"mode", random.chance(0.5) ? "stage" : "gradient"}};
    case ProblemKind::attention:
      break;
  }
  return {{"b", "1"},   {"hq", "1"},     {"hk", "1"},         {"sq", "4"},   {"d", "64"},
          {"dv", "64"}, {"causal", "0"}, {"layout", "dense"}, {"sk", "256"}, {"chunk", pick(random, kChunks)}};
}

}  // namespace

std::vector<FuzzInput> random_inputs(ProblemKind problem, Random& random, std::size_t siblings) {
  constexpr std::size_t kHead = 11, kKeys = 24;  // kernel, law, family, seed; more than any problem has keys
  std::vector<std::uint8_t> bytes(kHead + kKeys);
  const bool every_key = random.chance(0.5);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool given = i < kHead || every_key || random.chance(0.5);
    bytes[i] = given ? static_cast<std::uint8_t>(random.integer(1, 255)) : 0;
  }
  bytes[0] = 0;  // never kDataTag
  bytes[1] = 0;  // no law
  FuzzInput first = decode_input(problem, bytes);
  first.schedule.clear();
  first.origin.mutations.clear();
  std::vector<FuzzInput> inputs(siblings, first);
  for (FuzzInput& input : inputs) input.origin.spec.seed = random.next_u64();
  return inputs;
}

CaseSpec drawn_at_ledger_shape(ProblemKind problem, Format format, Random& random) {
  std::vector<const Family*> serving;
  for (const Family& family : families()) {
    if (family.serves(problem)) serving.push_back(&family);
  }
  const auto last = static_cast<std::int64_t>(serving.size()) - 1;
  const Family& family = *serving[static_cast<std::size_t>(random.integer(0, last))];
  CaseSpec spec{problem, std::string(family.name), random.next_u32(), shape_keys(problem, random)};
  spec.keys["format"] = info(format).name;
  return spec;
}

std::optional<Case> full_case(const CaseSpec& spec) {
  try {
    Case made = make_case(spec);
    if (is_full(made.problem)) return made;
  } catch (const UsageError&) {  // no such case: a family may need another shape
  }
  return std::nullopt;
}

}  // namespace flashproof
