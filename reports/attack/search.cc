#include "reports/attack/search.h"

#include <cmath>
#include <stdexcept>

#include "properties/generators/family.h"
#include "properties/generators/numbers.h"
#include "reference/system/error.h"
#include "reports/attack/replay.h"

namespace flashproof {
namespace {

constexpr std::uint64_t kStream = 0x73656172;
constexpr std::uint64_t kStarts = 120;  // before the first climb: every family several times
constexpr double kFreshStart = 0.15;    // chance of another one afterwards

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

bool is_full(const SoftmaxProblem& p) { return p.row_length.empty() && all_finite(p.x); }
bool is_full(const MergeProblem& p) { return all_finite(p.o) && all_finite(p.lse) && all_finite(p.l); }
bool is_full(const AttentionProblem& p) {
  return p.plain() && p.key_length.empty() && !p.causal && all_finite(p.q) && all_finite(p.k) && all_finite(p.v) &&
         all_finite(p.bias);
}
bool is_full(const Problem& problem) {
  const auto* gradient = std::get_if<BackwardProblem>(&problem);
  if (gradient != nullptr) return is_full(gradient->forward) && all_finite(gradient->d_out);
  return visit_forward([](const auto& p) { return is_full(p); }, problem);
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

std::optional<Case> full_case(const CaseSpec& spec) {
  try {
    Case made = make_case(spec);
    if (is_full(made.problem)) return made;
  } catch (const UsageError&) {  // no such case: a family may need another shape
  }
  return std::nullopt;
}

Search::Search(const Kernel& kernel, Format format, std::uint64_t seed, const std::vector<LedgerEntry>& known)
    : kernel_(kernel), format_(format), random_(seed, kStream), next_seed_(0) {
  for (const LedgerEntry& entry : known) {
    try {
      offer(entry.origin(), data_of(entry, kernel));
    } catch (const UsageError&) {  // of an older generator: found again or not
    }
  }
}

bool Search::takes(const Problem& problem) const { return kernel_.unsupported(problem).empty(); }

void Search::step() {
  const bool begun = evaluations_ >= kStarts;
  if (!begun || random_.chance(kFreshStart)) return start();
  for (std::size_t n = 0; n < kTerms; ++n) {
    turn_ = (turn_ + 1) % kTerms;
    if (parents_[turn_]) return climb(*parents_[turn_]);
  }
  start();
}

void Search::start() {
  std::vector<const Family*> serving;
  for (const Family& family : families()) {
    if (family.serves(kernel_.problem)) serving.push_back(&family);
  }
  const Family& family =
      *serving[static_cast<std::size_t>(random_.integer(0, static_cast<std::int64_t>(serving.size()) - 1))];
  CaseSpec spec{kernel_.problem, std::string(family.name), random_.next_u32(), shape_keys(kernel_.problem, random_)};
  spec.keys["format"] = info(format_).name;
  const auto made = full_case(spec);
  ++evaluations_;  // refused ones too, or a family that always refuses would cost nothing and never end
  if (made && takes(made->problem)) offer({spec, {}}, made->problem);
}

void Search::climb(const Parent& parent) {
  ++evaluations_;
  if (parent.origin.mutations.size() >= kMostMutations) return;
  const TermBest& best = parent.best;
  Origin origin = parent.origin;
  Mutation& mutation = origin.mutations.emplace_back(
      Mutation{++next_seed_, static_cast<std::int32_t>(best.row), static_cast<std::int32_t>(best.column)});
  if (kernel_.problem == ProblemKind::backward) {  // o and lse follow from what is changed
    if (random_.chance(0.3)) mutation.column |= kChangesDOut;
    return offer(origin, origin.make());
  }
  Problem child = parent.problem;
  mutate(child, mutation);
  offer(origin, child);
}

void Search::offer(const Origin& origin, const Problem& problem) {
  Measurement measured;
  try {
    measured = measure(kernel_, problem, Precision::search);
  } catch (const std::logic_error& e) {  // the bound's own evaluation broke down: a finding, too
    measured.violation = e.what();
  }
  if (!measured.violation.empty() && violation_.empty()) {
    violation_ = measured.violation;
    violation_origin_ = origin;
  }
  for (std::size_t term = 0; term < kTerms; ++term) {
    const TermBest& best = measured.best[term];
    auto& parent = parents_[term];
    if (best.share > 0 && (!parent || best.better_than(parent->best))) parent = Parent{best, origin, problem};
  }
}

std::vector<LedgerEntry> Search::entries() const {
  std::vector<LedgerEntry> list;
  for (std::size_t term = 0; term < kTerms; ++term) {
    if (!parents_[term]) continue;
    const TermBest exact = measure(kernel_, parents_[term]->problem, Precision::record).best[term];
    list.push_back({.kernel = std::string(kernel_.id),
                    .format = format_,
                    .term = static_cast<Term>(term),
                    .best = exact,
                    .case_line = to_string(parents_[term]->origin.spec),
                    .mutations = parents_[term]->origin.mutations});
  }
  return list;
}

}  // namespace flashproof
