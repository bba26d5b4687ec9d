#include "reference/problem/problems.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/system/error.h"

namespace flashproof {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

template <class P>
std::vector<Feature> features_of(const P& problem) {
  std::vector<Feature> result;
  for (const Feature feature : kFeatures) {
    if (problem.has(feature)) result.push_back(feature);
  }
  return result;
}

template <class P>
std::optional<Feature> first_beyond(const P& problem, std::span<const Feature> taken) {
  for (const Feature feature : kFeatures) {
    if (problem.has(feature) && std::ranges::find(taken, feature) == taken.end()) return feature;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(ProblemKind kind) {
  constexpr std::string_view kNames[] = {"softmax", "merge", "attention", "attention_backward"};
  static_assert(std::size(kNames) == std::size(kProblemKinds));
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(Part part) {
  constexpr std::string_view kNames[kPartCount] = {"o", "lse", "dq", "dk", "dv"};
  return kNames[static_cast<std::size_t>(part)];
}

std::string_view name(Feature feature) {
  constexpr std::string_view kNames[] = {"window", "softcap", "alibi", "sink",         "packed",
                                         "paged",  "descale", "mixed", "unnormalised", "joins"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Feature::joins) + 1);
  return kNames[static_cast<int>(feature)];
}

std::string_view absence(Feature feature) {
  constexpr std::string_view kTexts[] = {"window_left = window_right = -1",
                                         "softcap = 0",
                                         "no alibi",
                                         "no sink",
                                         "an empty q_start",
                                         "an empty page_table",
                                         "no q_descale, k_descale and v_descale",
                                         "q, k, v and o of one format",
                                         "no l",
                                         "an empty joins"};
  return kTexts[static_cast<int>(feature)];
}

ChunkPlan ChunkPlan::uniform(std::int64_t length, std::int64_t size) {
  if (length < 0 || length > kMaxExtent) {
    throw UsageError(fmt::format("plan: length {} must be 0..{}", length, kMaxExtent));
  }
  if (size < 1) throw UsageError(fmt::format("plan: chunk size {} must be 1 or more", size));
  ChunkPlan plan;
  plan.boundary.push_back(0);
  for (std::int64_t end = 0; end < length;) {
    end = size < length - end ? end + size : length;
    plan.order.push_back(static_cast<std::int32_t>(plan.order.size()));
    plan.boundary.push_back(static_cast<std::int32_t>(end));
  }
  return plan;
}

bool AttentionProblem::has(Feature feature) const {
  switch (feature) {
    case Feature::window:
      return window_left >= 0 || window_right >= 0;
    case Feature::softcap:
      return softcap != 0.0F;
    case Feature::alibi:
      return has_alibi();
    case Feature::sink:
      return has_sink();
    case Feature::packed:
      return packed();
    case Feature::paged:
      return paged();
    case Feature::descale:
      return has_descale();
    case Feature::mixed:
      return k.format != q.format || output_format() != q.format;
    default:
      return false;
  }
}

std::vector<Feature> AttentionProblem::features() const { return features_of(*this); }

std::optional<Feature> AttentionProblem::beyond(std::span<const Feature> taken) const {
  return first_beyond(*this, taken);
}

bool MergeProblem::has(Feature feature) const {
  switch (feature) {
    case Feature::unnormalised:
      return has_l();
    case Feature::joins:
      return !joins.empty();
    default:
      return false;
  }
}

std::vector<Feature> MergeProblem::features() const { return features_of(*this); }

std::optional<Feature> MergeProblem::beyond(std::span<const Feature> taken) const { return first_beyond(*this, taken); }

std::optional<Feature> feature_beyond(const Problem& problem, std::span<const Feature> taken) {
  return std::visit(Overloaded{[](const SoftmaxProblem&) { return std::optional<Feature>(); },
                               [&](const BackwardProblem& p) { return p.forward.beyond(taken); },
                               [&](const auto& p) { return p.beyond(taken); }},
                    problem);
}

std::int64_t AttentionProblem::k_length() const {
  if (paged()) return pages_per_sequence() * k.shape[2];
  if (k_start.empty()) return k.shape[2];
  std::int64_t longest = 0;
  for (std::int64_t s = 0; s < sequences(); ++s) longest = std::max(longest, k_length(s));
  return longest;
}

AttentionProblem::Keys AttentionProblem::visible_keys(std::int64_t s, std::int64_t i) const {
  const std::int64_t aligned = i + first_diagonal(s);  // the key beside the query
  Keys keys{0, visible_length(s)};
  if (causal) keys.last = std::min(keys.last, aligned + 1);
  if (window_right >= 0) keys.last = std::min(keys.last, aligned + window_right + 1);
  if (window_left >= 0) keys.first = std::max(keys.first, aligned - window_left);
  return keys;
}

std::int64_t AttentionProblem::q_offset(std::int64_t s, std::int64_t h, std::int64_t i) const {
  return packed() ? q.offset({0, h, q_start[s] + i, 0}) : q.offset({s, h, i, 0});
}

std::int64_t AttentionProblem::kv_offset(const Tensor& tensor, std::int64_t s, std::int64_t h, std::int64_t j) const {
  if (paged()) {
    const std::int64_t size = tensor.shape[2];
    return tensor.offset({page_table[s * pages_per_sequence() + j / size], h, j % size, 0});
  }
  return k_start.empty() ? tensor.offset({s, h, j, 0}) : tensor.offset({0, h, k_start[s] + j, 0});
}

ProblemKind kind_of(const Problem& problem) { return static_cast<ProblemKind>(problem.index()); }

const AttentionProblem* attention_of(const Problem& problem) {
  if (const auto* backward = std::get_if<BackwardProblem>(&problem)) return &backward->forward;
  return std::get_if<AttentionProblem>(&problem);
}

Format format_of(const Problem& problem) {
  return std::visit(
      Overloaded{[](const SoftmaxProblem& p) { return p.x.format; }, [](const MergeProblem& p) { return p.o.format; },
                 [](const AttentionProblem& p) { return p.q.format; },
                 [](const BackwardProblem& p) { return p.forward.q.format; }},
      problem);
}

Format output_format(const Problem& problem) {
  const auto* attention = std::get_if<AttentionProblem>(&problem);
  return attention == nullptr ? format_of(problem) : attention->output_format();
}

Format output_format(const Problem& problem, Part part) {
  return part == Part::lse ? Format::f32 : output_format(problem);
}

OutputShape output_shape(const Problem& problem) {
  return std::visit(
      Overloaded{
          [](const SoftmaxProblem& p) { return OutputShape{p.x.shape[0], p.x.shape[1]}; },
          [](const MergeProblem& p) {
            const std::int64_t blocks = p.form == MergeForm::concat ? p.o.shape[0] : 1;
            return OutputShape{p.o.shape[1], blocks * p.o.shape[2]};
          },
          [](const AttentionProblem& p) { return OutputShape{p.batch() * p.q_heads() * p.q_length(), p.value_dim()}; },
          [](const BackwardProblem& p) { return OutputShape{p.query_rows(), p.forward.head_dim()}; }},
      problem);
}

std::vector<std::int64_t> output_shape(const Problem& problem, Part part) {
  if (const auto* backward = std::get_if<BackwardProblem>(&problem)) {
    const AttentionProblem& p = backward->forward;
    if (part == Part::dq) return {p.batch(), p.q_heads(), p.q_length(), p.head_dim()};
    return {p.batch(), p.k_heads(), p.k_length(), part == Part::dk ? p.head_dim() : p.value_dim()};
  }
  const OutputShape shape = output_shape(problem);
  if (part == Part::lse) return {shape.rows};
  return {shape.rows, shape.width};
}

}  // namespace flashproof
